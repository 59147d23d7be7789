"""Tracebacks pasted as one paragraph: their line feeds have become blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Part", "is_paragraph", "parts"]

_HEADER = re.compile(rb"Traceback \(most recent call last\):(?: \(RANK \d+\))?")
_FRAME = re.compile(rb' {1,8}File "[^"\n]{1,512}", line \d{1,9}(?:, in \S+)?')
_EXCEPTION = re.compile(
    rb" (?P<raised>(?P<type>(?:\w+\.)*\w{0,100}(?:Error|Exception|Interrupt|Exit|Timeout|Failure))"
    rb"(?:: (?P<message>.*)|$))"
)
_JOINTS = re.compile(
    rb" (?:During handling of the above exception|The above exception was the direct cause)"
)
# A longer line is no paste.
_LONGEST = 1 << 16


class Part(NamedTuple):
    """One traceback of a paragraph: its frames as printed, and what names its exception.

    `raised` is the exception's line as it was; it, `type` and `message` are empty where it is cut.
    """

    frames: bytes
    raised: bytes
    type: bytes
    message: bytes


def is_paragraph(line: bytes) -> bool:
    """Say whether a traceback goes on in the line of its header."""
    header = _HEADER.search(line)
    return header is not None and _FRAME.match(line, header.end()) is not None


def parts(line: bytes) -> Iterator[Part]:
    """Yield the tracebacks of a paragraph in the order in which they stand."""
    for part in _HEADER.split(line[:_LONGEST])[1:]:
        text = _JOINTS.split(part)[0]
        end = max((frame.end() for frame in _FRAME.finditer(text)), default=0)
        found = _EXCEPTION.search(text.rstrip(), end)
        if found is None:
            yield Part(text, b"", b"", b"")
        else:
            yield Part(text[:end], found["raised"], found["type"], found["message"] or b"")
