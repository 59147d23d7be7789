"""How large a request may be: views that take logs take much, all others little.

Django knows one limit for all of them, and reads a form into memory before the view is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from denpex.errors import error_page

__all__ = ["SmallRequestsMiddleware", "announced_bytes", "megabytes", "request_bytes", "takes_logs"]

_View = TypeVar("_View", bound=Callable[..., HttpResponseBase])

_SMALL = 100_000
_MARK = "takes_logs"


def request_bytes(log_bytes: int) -> int:
    """Return how large a request that brings a log of this size may be.

    Form encoding turns one byte into three at worst; 1 MB more is for the form's other parts.
    """
    return 3 * log_bytes + 1_000_000


def megabytes(size: int) -> str:
    """Return a size in bytes as pages say it."""
    return f"{size / 1_000_000:g}"


def takes_logs(view: _View) -> _View:
    """Let `view` receive large requests; it asks for their size itself."""
    setattr(view, _MARK, True)
    return view


def announced_bytes(request: HttpRequest) -> int:
    """Return how long the request says it is."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdigit() else 0


class SmallRequestsMiddleware:
    """Refuses a large request to a view that takes no logs, before anything reads it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer `request`."""
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponseBase],
        _args: Sequence[Any],
        _kwargs: Mapping[str, Any],
    ) -> HttpResponse | None:
        """Refuse the request, or let it pass."""
        if announced_bytes(request) <= _SMALL or getattr(view, _MARK, False):
            return None
        return error_page(
            request,
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            message="This form was sent with more than it has room for.",
            advice="Shorten what you typed and send it again.",
        )
