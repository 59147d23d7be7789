"""Public pages as stored bytes: rendered and compressed once, dropped when the catalogue changes.

They are the same for everyone: rendered without a request, so that no cookie, token or number of a
visitor can get into one, and a cache in front of the site may keep them. Each process asks the
database once a second at most whether the catalogue has changed.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from time import monotonic
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from encyclopedia.models import LoadedCatalogue

__all__ = ["StoredPage", "public_page", "render_public"]

CACHE_SECONDS = 300
CHECK_SECONDS = 1.0
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s|,|$))")

_Parameters = ParamSpec("_Parameters")
_View = Callable[Concatenate[HttpRequest, _Parameters], HttpResponseBase]


def render_public(template: str, context: Mapping[str, object]) -> HttpResponse:
    """Render a page that knows nothing of who asks."""
    return HttpResponse(render_to_string(template, {"origin": settings.DENPEX_ORIGIN, **context}))


def public_page(
    *,
    varies_with: tuple[str, ...] = (),
    unless: Callable[[HttpRequest], bool] | None = None,
) -> Callable[[_View[_Parameters]], _View[_Parameters]]:
    """Make a view's successful answers public: stored, compressed, with an ETag.

    `varies_with` names the query parameters that the view reads. An answer to one of them is not
    stored, since anyone can make up a new value; every other query is ignored.

    `unless` says who gets an answer of their own: theirs is private and kept nowhere, and caches
    are told that cookies decide.
    """
    vary = "Accept-Encoding, Cookie" if unless else "Accept-Encoding"

    def decorate(view: _View[_Parameters]) -> _View[_Parameters]:
        # It takes no form: a POST is told so, and not that its token is missing.
        @csrf_exempt
        @require_safe
        @wraps(view)
        def answer(
            request: HttpRequest, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
        ) -> HttpResponseBase:
            if unless is not None and unless(request):
                return _private(gzip_page(view)(request, *args, **kwargs))
            storable = not settings.DEBUG and not any(name in request.GET for name in varies_with)
            pages = _store.pages() if storable else {}
            if page := pages.get(request.path):
                return page.answer(request)
            response = view(request, *args, **kwargs)
            if not isinstance(response, HttpResponse) or response.status_code != 200:
                return response
            pages[request.path] = page = StoredPage.of(response, vary)
            return page.answer(request)

        return answer

    return decorate


@dataclass(frozen=True, slots=True)
class StoredPage:
    """The bytes of one page, plain and compressed; its headers are those that never vary."""

    body: bytes
    compressed: bytes
    headers: Mapping[str, str]

    @classmethod
    def of(cls, response: HttpResponse, vary: str) -> StoredPage:
        """Take over the body and the headers of a rendered response.

        `vary` names the request headers on which the answer depends.
        """
        body = response.content
        return cls(
            body=body,
            compressed=gzip.compress(body, mtime=0),
            headers={
                **response.headers,
                "Cache-Control": f"public, max-age={CACHE_SECONDS}",
                # Weak: the plain and the compressed form are one page.
                "ETag": f'W/"{hashlib.sha256(body).hexdigest()[:24]}"',
                "Vary": vary,
            },
        )

    def answer(self, request: HttpRequest) -> HttpResponseBase:
        """Return the page, or 304 where the request shows that it is known already."""
        response = HttpResponse(headers=dict(self.headers))
        if _GZIP.search(request.headers.get("Accept-Encoding", "")):
            response.content = self.compressed
            response.headers["Content-Encoding"] = "gzip"
        else:
            response.content = self.body
        response.headers["Content-Length"] = str(len(response.content))
        conditional = get_conditional_response(
            request, etag=self.headers["ETag"], response=response
        )
        return conditional or response


def _private(response: HttpResponseBase) -> HttpResponseBase:
    response.headers["Cache-Control"] = "private, no-store"
    return response


class _PageStore:
    """Pages by path, in the memory of this process, of one state of the catalogue."""

    def __init__(self) -> None:
        self._fingerprint: str | None = None
        self._pages: dict[str, StoredPage] = {}
        self._check_at = 0.0

    def pages(self) -> dict[str, StoredPage]:
        """Return the pages of the state of now, or of a second ago; older ones are dropped."""
        now = monotonic()
        if self._fingerprint is None or now >= self._check_at:
            fingerprint = LoadedCatalogue.current_fingerprint()
            self._check_at = now + CHECK_SECONDS
            if fingerprint != self._fingerprint:
                self._fingerprint, self._pages = fingerprint, {}
        return self._pages


_store = _PageStore()
