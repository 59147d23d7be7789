"""What was typed into a form when its sender turned out to be logged out: kept until they are back.

It waits in the sender's own browser, signed, and never in our database.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase

__all__ = ["forget", "keep", "read"]

_COOKIE = "denpex_draft"
_PATH = "/account/evaluation/"
_SALT = "denpex.draft"
_KEPT = dt.timedelta(hours=1)
# Browsers keep 4096 bytes of a cookie with its name and attributes.
_MOST_BYTES = 3800


def keep(response: HttpResponseBase, typed: Mapping[str, str], names: Iterable[str]) -> None:
    """Let the browser bring these fields back."""
    fields = {name: typed[name] for name in names if name in typed}
    value = signing.dumps(fields, salt=_SALT, compress=True)
    if len(value) > _MOST_BYTES:
        return
    response.set_cookie(
        _COOKIE,
        value,
        max_age=_KEPT,
        path=_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def read(request: HttpRequest, names: Iterable[str]) -> dict[str, str]:
    """Return the fields of these names that were kept, if any."""
    try:
        kept = signing.loads(request.COOKIES.get(_COOKIE, ""), salt=_SALT, max_age=_KEPT)
    except signing.BadSignature:
        return {}
    return {name: kept[name] for name in names if name in kept}


def forget(response: HttpResponseBase) -> None:
    """Remove what was kept."""
    response.delete_cookie(_COOKIE, path=_PATH, samesite="Lax")
