"""Session cookies that cannot be a session's are as none at all."""

from __future__ import annotations

import re

from django.conf import settings
from django.contrib.sessions import middleware
from django.http import HttpRequest

__all__ = ["SessionMiddleware"]

# As Django makes them (`SessionBase._get_new_session_key`).
_KEY = re.compile(r"[a-z0-9]{32}")


class SessionMiddleware(middleware.SessionMiddleware):
    """Django's own, which answers a key that is too short by a cookie that deletes it.

    A public page carries no cookie: a cache in front may hand it to everyone. Nor does a key of
    another shape, which anybody can send, reach the database.
    """

    def process_request(self, request: HttpRequest) -> None:
        """Give the request its session."""
        name = settings.SESSION_COOKIE_NAME
        if not _KEY.fullmatch(request.COOKIES.get(name, "")):
            request.COOKIES.pop(name, None)
        super().process_request(request)
