"""The text of a log: bytes, made even enough to match on, with the line numbers of the paste.

Nothing here decodes: offsets are byte offsets, and a line number counts the line feeds before an
offset in the file as it came.
"""

from __future__ import annotations

import codecs
import mmap
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from diagnosis.engine.copied import as_printed, without_escaped_ends
from diagnosis.engine.margin import without_margin

__all__ = ["ANSI", "LogFile", "Text", "prepare"]

_ESCAPE = b"\x1b"
# ECMA-48 control sequences, and operating-system commands as xterm's ctlseqs has them.
ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_=>])")
# A lone carriage return ends what is shown: a progress bar redraws.
_EVEN = bytes.maketrans(b"\r\x0b\x0c", b"\n  ")
_UNEVEN = (b"\r", b"\x0b", b"\x0c")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_INDEX_STRIDE = 1 << 16
# How much a progress bar draws before the line is looked on as one of a file that has no feeds.
_REDRAWN_BYTES = 1 << 16


# What torch puts before a rank's lines, and how far into a line it is looked for.
_RANK_MARK = b"[rank"
_TORN_BYTES = 1 << 12
# What may stand right before it: another label, a stamp in brackets, the end of a progress bar.
_LABEL = re.compile(rb"(?:\[[^\]\n]{1,64}\]:?|[|\x1f])$")
# A host, or a file with a line's number as `grep` prints it.
_HOST = re.compile(rb"[\w./-]{1,64}:(?:\d{1,7}:)?$")
_LONGEST_LABEL = 80
# No line is longer; what goes on without a feed is cut there.
_LONGEST_LINE = 1 << 16


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file of a paste: its name (a path is welcome, ranks are read from it) and its bytes."""

    name: str
    data: bytes | mmap.mmap


@dataclass(frozen=True)
class Text:
    """A log made even: `data` is what is matched, `counted` has the line feeds as they came.

    Both have one length; offsets of one are offsets of the other. Where lines stand here in another
    order than in the file, `order` holds the number that each has there.
    """

    name: str
    data: bytes
    counted: bytes
    size: int
    order: tuple[int, ...] = ()

    @cached_property
    def _feeds(self) -> list[int]:
        """Line feeds before each stride of the text, so that a look-up counts one stride only."""
        counted, total = self.counted, 0
        feeds = [0]
        for start in range(0, len(counted), _INDEX_STRIDE):
            total += counted.count(b"\n", start, start + _INDEX_STRIDE)
            feeds.append(total)
        return feeds

    def line_number(self, offset: int) -> int:
        """Return the number, from 1, of the line that holds `offset` in the file as it came."""
        stride = min(offset, len(self.counted)) // _INDEX_STRIDE
        feeds = self._feeds[stride] + self.counted.count(b"\n", stride * _INDEX_STRIDE, offset)
        return self.order[feeds] if feeds < len(self.order) else feeds + 1

    @property
    def lines(self) -> int:
        """Count the lines; an unfinished last line is a line."""
        unfinished = bool(self.counted) and not self.counted.endswith(b"\n")
        return self._feeds[-1] + unfinished

    def bounds(self, offset: int) -> tuple[int, int]:
        """Return where the line of `data` that holds `offset` starts and ends, without its feed.

        Where ranks tore each other's lines, the line of one ends where that of the next begins. A
        line without end is looked on as several.
        """
        data = self.data
        least = max(0, offset - offset % _LONGEST_LINE - _LONGEST_LINE)
        start = max(data.rfind(b"\n", least, offset) + 1, least)
        most = offset - offset % _LONGEST_LINE + 2 * _LONGEST_LINE
        end = data.find(b"\n", offset, most)
        end = min(len(data), most) if end < 0 else end
        first, last = max(start + 1, offset - _TORN_BYTES), min(end, offset + _TORN_BYTES)
        if data.find(_RANK_MARK, first, last) < 0:
            return start, end
        begin = self._torn_before(start, first, offset)
        return begin, self._torn_behind(start, max(begin, offset) + 1, last, end)

    def _torn_before(self, start: int, first: int, offset: int) -> int:
        """Return the last place from `first` to `offset` where another rank cut in, or `start`."""
        place = self.data.rfind(_RANK_MARK, first, offset + len(_RANK_MARK))
        while place >= 0 and not self._is_torn(start, place):
            place = self.data.rfind(_RANK_MARK, first, place)
        return start if place < 0 else place

    def _torn_behind(self, start: int, first: int, last: int, end: int) -> int:
        """Return the first place from `first` to `last` where another rank cuts in, or `end`."""
        place = self.data.find(_RANK_MARK, first, last)
        while place >= 0 and not self._is_torn(start, place):
            place = self.data.find(_RANK_MARK, place + 1, last)
        return end if place < 0 else place

    def _is_torn(self, start: int, place: int) -> bool:
        """Say whether text stands right before the mark of a rank, and no label."""
        before = self.data[max(start, place - _LONGEST_LABEL) : place]
        whole = place - start <= _LONGEST_LABEL
        label = _LABEL.search(before) or (whole and _HOST.match(before))
        return not before[-1:].isspace() and not label

    def redrawn_from(self, start: int) -> int | None:
        """Return where the text begins that the line at `start` is drawn over; None if over none.

        A carriage return alone goes back to the front of a line, which a terminal then draws anew.
        """
        if start == 0 or self.counted[start - 1 : start] != b"\r":
            return None
        first = max(0, start - _REDRAWN_BYTES)
        begin = self.counted.rfind(b"\n", first, start) + 1
        ends = self.counted.find(b"\n", start, start + _REDRAWN_BYTES) >= 0
        return begin if ends and begin >= first and begin < start - 1 else None

    def offset_of_line(self, number: int) -> int:
        """Return where line `number` (from 1) starts; the end of the text where there is none.

        For a text whose lines stand as in the file, as it is shown.
        """
        feeds = self._feeds
        stride = bisect_right(feeds, number - 2) - 1 if number > 1 else 0
        missing = number - 1 - feeds[stride]
        offset = stride * _INDEX_STRIDE
        while missing > 0:
            found = self.counted.find(b"\n", offset)
            if found < 0:
                return len(self.counted)
            offset, missing = found + 1, missing - 1
        return offset


def prepare(log: LogFile, unfold: Callable[[bytes], bytes] | None = None) -> Text:
    """Make a file even: encoding marks read, ANSI, NUL, margin and what copying did cut, CR as LF.

    Takes any bytes and never fails; line numbers stay those of the file as it came. `unfold` makes
    lines of text of the records in it, without a line feed more or less.
    """
    raw = bytes(log.data)
    size = len(raw)
    counted = without_margin(as_printed(_cut(_decode_marked(raw))))
    unfolded = counted if unfold is None else unfold(counted)
    counted = without_escaped_ends(counted) if unfolded is counted else _cut(unfolded)
    if any(mark in counted for mark in _UNEVEN):
        return Text(log.name, counted.translate(_EVEN), counted, size)
    return Text(log.name, counted, counted, size)


def _cut(raw: bytes) -> bytes:
    return _cut_ansi(raw.replace(b"\0", b""))


def _decode_marked(raw: bytes) -> bytes:
    """Return UTF-8 where a byte-order mark announces an encoding, else the bytes as they are."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace").encode("utf-8", "replace")
    return raw


def _cut_ansi(raw: bytes) -> bytes:
    return ANSI.sub(b"", raw) if _ESCAPE in raw else raw
