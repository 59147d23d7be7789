"""A file as masking reads and writes it: without what tears values apart, in one encoding.

Colour codes and NUL bytes are not searched, since the engine does not see them either; UTF-16 that
is marked as such is read as UTF-8. What is written is the file as it came, but for the replaced.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import cast

from diagnosis.engine.copied import as_printed
from diagnosis.engine.mask_spans import Range
from diagnosis.engine.text import ANSI, LogFile

__all__ = ["View", "view"]

# (A literal at the front lets `re` skip to it; a repeat would not.)
_NULS = re.compile(rb"\x00\x00*+")
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_COUNTED_BYTES = 1 << 20


class View:
    """One file: `text` is what is searched, `source` is what is cut and written."""

    def __init__(self, original: LogFile, source: bytes, encoding: str | None) -> None:
        """Take the file, and its bytes in an encoding that holds ASCII; `encoding` was its own."""
        self.original = original
        self.source = source
        self._encoding = encoding
        self._unseen = _unseen(source)
        self.text = _without(source, self._unseen) if self._unseen else source

    def moved(self) -> Callable[[int, int], Range] | None:
        """Return what turns a span of the text into one of the source; None where they are one."""
        return _moved_by(self._unseen) if self._unseen else None

    def line_feeds(self, start: int, end: int) -> int:
        """Count the line feeds of a stretch of the source."""
        if isinstance(self.source, bytes):
            return self.source.count(b"\n", start, end)
        # A memory map has no count of its own.
        return sum(
            self.source[at : min(at + _COUNTED_BYTES, end)].count(b"\n")
            for at in range(start, end, _COUNTED_BYTES)
        )

    def log(self, masked: bytes) -> LogFile:
        """Return the file with other content, in the encoding in which it came."""
        if self._encoding is not None:
            text = masked.decode("utf-8", "surrogatepass")
            masked = text.encode(self._encoding, "surrogatepass")
        return LogFile(self.original.name, masked)


def view(log: LogFile) -> View:
    """Return the view of a file; takes any bytes and never fails."""
    # A memory map offers what is used of bytes here: slices, find, rfind and the buffer of `re`.
    source = cast("bytes", log.data)
    for mark, encoding in _WIDE_MARKS:
        if source[:2] == mark:
            whole = source[: len(source) & ~1].decode(encoding, "surrogatepass")
            return View(log, as_printed(whole.encode("utf-8", "surrogatepass")), encoding)
    return View(log, as_printed(source), None)


def _unseen(source: bytes) -> list[Range]:
    """Return where colour codes and NUL bytes stand, in order and apart."""
    # To see that a byte is nowhere takes a quarter of the time of a search for what it begins.
    codes = _places(ANSI, source) if source.find(b"\x1b") >= 0 else []
    nuls = _places(_NULS, source) if source.find(b"\0") >= 0 else []
    if not (codes and nuls):
        return codes or nuls
    apart: list[Range] = []
    for start, end in sorted(codes + nuls):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def _places(pattern: re.Pattern[bytes], source: bytes) -> list[Range]:
    return [match.span() for match in pattern.finditer(source)]


def _without(source: bytes, unseen: Sequence[Range]) -> bytes:
    starts = (0, *(end for _, end in unseen))
    ends = (*(start for start, _ in unseen), len(source))
    return b"".join(source[start:end] for start, end in zip(starts, ends, strict=True))


def _moved_by(unseen: Sequence[Range]) -> Callable[[int, int], Range]:
    removed = list(accumulate((end - start for start, end in unseen), initial=0))
    places = [start - before for (start, _), before in zip(unseen, removed, strict=False)]

    def moved(start: int, end: int) -> Range:
        last = end - 1
        begin = start + removed[bisect_right(places, start)]
        return begin, last + removed[bisect_right(places, last)] + 1

    return moved
