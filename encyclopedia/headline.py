"""What a failure's page is called: technology and message, as people type them into a search."""

from __future__ import annotations

import re

from encyclopedia.catalogue import Failure

__all__ = ["LONGEST_TITLE", "page_title"]

LONGEST_TITLE = 90
# Search engines cut a title after about 60 characters, so that the message comes first.
_LONGEST_MESSAGE = 75
# A name that is cut is still one where this many characters of it are left.
_LEAST_OF_NAME = 16
_DRIVER = "NVIDIA driver"
_SIDE_REMARK = re.compile(r"[,:;(]\s?")
_LOOSE_END = " .,:;(=…"
_CUT = " …"


def page_title(failure: Failure) -> str:
    """Return the text of the page's title tag: technology, message, name of the failure.

    Of a name that is too long, its first part stays, or as many of its words as there is room for.
    """
    message = failure.message or failure.title
    technology = _technology(failure)
    if not message.lower().startswith(technology.lower().split()[0]):
        message = f"{technology}: {message}"
    title = _cut(message, _LONGEST_MESSAGE)
    if failure.title in message:
        return title
    name = _name(failure.title, LONGEST_TITLE - len(title) - len(" · "))
    return f"{title} · {name}" if name else title


def _technology(failure: Failure) -> str:
    """Return who prints the message; of the driver's, people know the Xid."""
    xid = next((code for code in failure.codes if code.startswith("Xid ")), None)
    return xid if xid and failure.systems[0] == _DRIVER else failure.systems[0]


def _name(title: str, room: int) -> str:
    if len(title) <= room:
        return title
    first_part = _SIDE_REMARK.split(title)[0].strip()
    if _LEAST_OF_NAME <= len(first_part) <= room:
        return first_part
    return _cut(title, room) if room >= _LEAST_OF_NAME else ""


def _cut(text: str, room: int) -> str:
    """Return `text`, or as many of its words as there is room for, and a mark that it was cut."""
    if len(text) <= room:
        return text
    words = text[: room - len(_CUT)].rsplit(" ", 1)[0].rstrip(_LOOSE_END)
    return words + _CUT
