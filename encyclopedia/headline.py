"""What a failure's page is called: technology and message, as people type them into a search."""

from __future__ import annotations

import re

from encyclopedia.catalogue import Failure
from encyclopedia.messages import cut_at_a_word

__all__ = ["LONGEST_TITLE", "page_title"]

LONGEST_TITLE = 90
# Search engines cut a title after about 60 characters, so that the message comes first.
_LONGEST_MESSAGE = 75
# A name that is cut is still one where this many characters of it are left.
_LEAST_OF_NAME = 16
_DRIVER = "NVIDIA driver"
_SIDE_REMARK = re.compile(r"[,:;(]\s?")


def page_title(failure: Failure) -> str:
    """Return the text of the page's title tag: technology, message, name of the failure.

    Of a name that is too long, its first part stays, or as many of its words as there is room for.
    """
    message = failure.message or failure.title
    technology = _technology(failure)
    if not message.lower().startswith(technology.lower().split()[0]):
        message = f"{technology}: {message}"
    title = cut_at_a_word(message, _LONGEST_MESSAGE)
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
    return cut_at_a_word(title, room) if room >= _LEAST_OF_NAME else ""
