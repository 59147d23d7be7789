"""The margin of a text: what a mail, a forum or a listing puts in front of every line of it."""

from __future__ import annotations

import re

__all__ = ["without_margin"]

# Quoted in a mail; indented as a block of code; numbered as `cat -n` and `grep -n` do.
_QUOTED = re.compile(rb"(?m)^>(?: |$|(?=>))")
_NUMBERED = re.compile(rb"(?m)^(?: {0,6}(\d{1,7})\t|(\d{1,7})[:-])")
_SAMPLE_BYTES = 1 << 14
# A quotation of a quotation, indented: no margin is deeper.
_DEEPEST = 4
# A few lines may be a piece of a traceback, or a block of fields.
_FEWEST_INDENTED = 8
# Rows of a table may be numbered as well, though seldom by lines.
_FEWEST_NUMBERED = 3


def without_margin(data: bytes) -> bytes:
    """Return a text without its margin; the same object where it has none, or not on every line.

    Lines that are blank need none. No line feed is gained or lost.
    """
    for _ in range(_DEEPEST):
        cut = _unquoted(_unnumbered(_outdented(data)))
        if cut is data:
            break
        data = cut
    return data


def _outdented(data: bytes) -> bytes:
    lines = [line for line in _sample(data) if line.strip()]
    if len(lines) < _FEWEST_INDENTED:
        return data
    margin = min((line[: len(line) - len(line.lstrip(b" \t"))] for line in lines), key=len)
    while not all(line.startswith(margin) for line in lines):
        margin = margin[:-1]
    if not margin or re.search(rb"(?m)^(?!" + margin + rb")[^\n]*\S", data):
        return data
    return re.sub(rb"(?m)^" + margin, b"", data)


def _unquoted(data: bytes) -> bytes:
    lines = [line for line in _sample(data) if line.strip()]
    if not lines or not all(map(_QUOTED.match, lines)):
        return data
    if re.search(rb"(?m)^(?!>(?: |$|>))[^\n]*\S", data):
        return data
    return _QUOTED.sub(b"", data)


def _unnumbered(data: bytes) -> bytes:
    if not _NUMBERED.match(data):
        return data
    numbers = [_NUMBERED.match(line) for line in _sample(data)]
    told = [int(number[1] or number[2]) for number in numbers if number]
    consecutive = list(range(told[0], told[0] + len(told))) if told else []
    if len(told) < max(_FEWEST_NUMBERED, len(numbers)) or told != consecutive:
        return data
    return _NUMBERED.sub(b"", data)


def _sample(data: bytes) -> list[bytes]:
    """Return the first whole lines, or all where they are few."""
    head = data[:_SAMPLE_BYTES]
    lines = head.split(b"\n")
    return lines if len(head) < _SAMPLE_BYTES and lines[-1] else lines[:-1]
