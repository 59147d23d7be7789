"""gunicorn's worker for this site: who sends an address that is too long gets a page of the site.

gunicorn refuses it before the application sees it. Without a limit (`--limit-request-line 0`) it
would keep all that is sent, and look through all of it again at each piece.
"""

from __future__ import annotations

import contextlib
import socket
import time
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.middleware.security import SecurityMiddleware
from gunicorn.http.errors import LimitRequestLine
from gunicorn.workers.gthread import ThreadWorker

from denpex.errors import error_page
from denpex.headers import SecurityHeadersMiddleware

__all__ = ["Worker"]

_STATUS = HTTPStatus.REQUEST_URI_TOO_LONG
# A browser sends all of its request before it reads the answer, and no address above 2 MB.
_MOST_BYTES_LEFT = 4_000_000
_SECONDS = 2.0


class Worker(ThreadWorker):
    """A worker with threads that answers an over-long address in words."""

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer a request that gunicorn cannot read."""
        if not isinstance(exc, LimitRequestLine):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("Refused an address that is too long: %s", exc)
        # Who is gone, or goes on sending, reads no answer.
        with contextlib.suppress(OSError):
            _answer(client)


def _answer(client: socket.socket) -> None:
    client.settimeout(_SECONDS)
    client.sendall(_page())
    client.shutdown(socket.SHUT_WR)
    # Closed with something unread, the connection would be reset and the answer lost.
    end = time.monotonic() + _SECONDS
    left = _MOST_BYTES_LEFT
    while left > 0 and time.monotonic() < end and (received := client.recv(65536)):
        left -= len(received)


def _page() -> bytes:
    """Return the whole answer: its head and the page."""
    request = HttpRequest()
    response = error_page(request, _STATUS)
    SecurityMiddleware(lambda _: response).process_response(request, response)
    SecurityHeadersMiddleware(lambda _: response)(request)
    response.headers["Content-Length"] = str(len(response.content))
    response.headers["Connection"] = "close"
    headers = (f"{name}: {value}" for name, value in response.headers.items())
    head = (f"HTTP/1.1 {_STATUS.value} {_STATUS.phrase}", *headers, "", "")
    return "\r\n".join(head).encode("latin-1") + response.content
