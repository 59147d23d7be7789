"""The site's error pages: each says what is wrong and what to do."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable
from http import HTTPStatus
from pathlib import PurePosixPath

import redis
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import render

__all__ = [
    "MethodNotAllowedMiddleware",
    "bad_request",
    "csrf_failure",
    "error_page",
    "not_found",
    "permission_denied",
    "server_error",
    "words_of",
]

_UNAVAILABLE = (OperationalError, redis.ConnectionError, redis.TimeoutError)
_RETRY_SECONDS = 30
_LONGEST_WORDS = 80


def error_page(
    request: HttpRequest, status: int, *, retry_after: int | None = None, **context: object
) -> HttpResponse:
    """Render `<status>.html` with that status.

    `context` may hold `message` and `advice`, which stand in place of the template's own words, and
    whatever a template of its own needs.
    `retry_after` is in seconds; without one, what is too much today returns with the next day.
    An error page is never kept by a cache.
    """
    if status == HTTPStatus.TOO_MANY_REQUESTS and retry_after is None:
        retry_after = _seconds_until_tomorrow()
    ctx = {"status": status, "returns_at": _seconds_from_now(retry_after), **context}
    response = render(request, f"{status}.html", ctx, status=status)
    response.headers["Cache-Control"] = "no-store"
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def _seconds_until_tomorrow() -> int:
    """Return the seconds until 00:00 UTC, when allowances return."""
    now = dt.datetime.now(tz=dt.UTC)
    tomorrow = dt.datetime.combine(now.date() + dt.timedelta(days=1), dt.time(), dt.UTC)
    return math.ceil((tomorrow - now).total_seconds())


def _seconds_from_now(seconds: int | None) -> dt.datetime | None:
    return None if seconds is None else dt.datetime.now(tz=dt.UTC) + dt.timedelta(seconds=seconds)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400, or 413 where Django refused the size of the upload."""
    if isinstance(exception, DisallowedHost):
        return error_page(
            request,
            400,
            message="This site does not answer to the name in the address.",
            advice="Open it under its own name. Who runs it adds a name with DENPEX_ALLOWED_HOSTS.",
        )
    return error_page(request, 413 if isinstance(exception, RequestDataTooBig) else 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Answer 403."""
    return error_page(request, 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Answer 403 for a form whose token is missing or stale."""
    message = "This form was open for too long, or your browser blocks cookies."
    advice = "Go back, reload the page and send the form again."
    return error_page(request, 403, message=message, advice=advice)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Answer 404, with the words of the address in the search box."""
    return error_page(request, 404, words=words_of(request.path))


def words_of(path: str) -> str:
    """Return the last part of an address as words to search for: /f/xid-79 asks for xid 79."""
    last = PurePosixPath(path).stem[:_LONGEST_WORDS]
    return " ".join(last.replace("-", " ").replace("_", " ").split())


class MethodNotAllowedMiddleware:
    """Gives a page to what Django answers with an empty one: a form's address that is opened."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer `request`; a 405 keeps its headers."""
        response = self.get_response(request)
        if not isinstance(response, HttpResponseNotAllowed) or response.content:
            return response
        page = error_page(request, HTTPStatus.METHOD_NOT_ALLOWED, is_read=request.method == "GET")
        for name, value in response.headers.items():
            if name != "Content-Type":
                page.headers[name] = value
        return page


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500, or 503 where the database or Redis did not answer."""
    unavailable = isinstance(sys.exc_info()[1], _UNAVAILABLE)
    return (
        error_page(request, 503, retry_after=_RETRY_SECONDS)
        if unavailable
        else error_page(request, 500)
    )
