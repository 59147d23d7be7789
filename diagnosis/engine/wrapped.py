"""Messages that a terminal, a box or a paste cut into several lines, joined again.

Two kinds of cut are undone: lines broken at one fixed width, also inside words, and the message of
an exception broken at blanks. The joined text is scanned besides the log, never instead of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from diagnosis.engine.paragraphs import is_paragraph, parts
from diagnosis.engine.probes import COUNTER
from diagnosis.engine.text import Text

__all__ = ["Continue", "Joined", "joined_lines", "raised_in_paragraphs"]

# How much of a text is looked at for cuts, and how far around a line of interest.
_BUDGET_BYTES = 1 << 20
_REACH_BYTES = 8 << 10
# A terminal is this wide, and cuts this many lines, before a common length is taken for its width.
_NARROWEST, _WIDEST = 60, 400
_FEWEST_CUTS = 2
_MOST_LONGER_SHARE = 0.1
# What a line of its own begins with: a stamp, a label, a field, a frame.
_FRESH = re.compile(
    r"\[?\d{4}[-/]\d\d|\[\w[\w ]*\]:?|[EWIF]\d{4} |\d\d:\d\d:\d\d|[A-Z]{4,8}:? "
    r"|\{[\"']|  File \"|Traceback "
)
# A run that goes on: no message of an exception counts steps.
_COUNTS = re.compile(rf"[\s\[(|>-]*(?:{COUNTER}|\d{{1,3}}(?:\.\d+)?%\|)")
_MOST_PIECES = 12
_BOX = "│┃|"
_MESSAGE_PIECES = 4


@dataclass(frozen=True, slots=True)
class Joined:
    """A logical line: all of it as bytes.

    `start` and `end` are those of its first piece in the text, `last` is the end of its last piece.
    """

    start: int
    end: int
    last: int
    data: bytes


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    text: str


# Of the line of an exception and one behind it: the words that go on with its message, or None.
Continue = Callable[[bytes, bytes], bytes | None]


def joined_lines(text: Text, interesting: Sequence[int], goes_on: Continue) -> Iterator[Joined]:
    """Yield the lines that were cut, joined, from around the `interesting` offsets (ascending)."""
    for start, end in _regions(text, interesting):
        pieces = list(_pieces(text, start, end))
        yield from _joined_at_width(pieces)
        within = slice(bisect_left(interesting, start), bisect_right(interesting, end))
        yield from _joined_messages(pieces, interesting[within], goes_on)


def raised_in_paragraphs(text: Text, headers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    """Yield where each paragraph starts that was a traceback, and the line of its exception.

    `headers` are the offsets at which headers of tracebacks end.
    """
    bounds = (
        text.bounds(header)
        for header in headers
        if text.data[header + 1 : header + 3] != b":\n"  # most headers end their line
    )
    for start, end in dict.fromkeys(bounds):
        line = text.data[start:end]
        if is_paragraph(line):
            raised = [part.raised for part in parts(line) if part.raised]
            if raised:
                yield start, raised[0]


def _regions(text: Text, interesting: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield stretches of whole lines around the offsets, or the end of a text without any."""
    size = len(text.data)
    budget = _BUDGET_BYTES
    done = 0
    for offset in interesting or (size,):
        start = max(done, text.data.rfind(b"\n", 0, max(0, offset - _REACH_BYTES)) + 1)
        if offset < done or start >= size:
            continue
        end = text.data.find(b"\n", min(size, offset + _REACH_BYTES))
        end = size if end < 0 else end
        yield start, end
        done, budget = end, budget - (end - start)
        if budget <= 0:
            return


def _pieces(text: Text, start: int, end: int) -> Iterator[_Piece]:
    for line in text.data[start:end].split(b"\n"):
        yield _Piece(start, start + len(line), line.decode("utf-8", "replace"))
        start += len(line) + 1


def _joined_at_width(pieces: Sequence[_Piece]) -> Iterator[Joined]:
    width = _width(piece.text for piece in pieces)
    if width is None:
        return
    place = 0
    while place < len(pieces):
        last = place
        while (
            len(pieces[last].text) == width
            and last + 1 < len(pieces)
            and pieces[last + 1].text
            and not _FRESH.match(pieces[last + 1].text)
            and last - place < _MOST_PIECES
        ):
            last += 1
        if last > place:
            data = "".join(piece.text for piece in pieces[place : last + 1]).encode()
            yield Joined(pieces[place].start, pieces[place].end, pieces[last].end, data)
        place = last + 1


def _width(lines: Iterable[str]) -> int | None:
    """Return the width at which lines were cut, or None: many lines of one length, few longer."""
    lengths = Counter(len(line) for line in lines if len(line) >= _NARROWEST)
    longer = 0
    for length in sorted(lengths, reverse=True):
        count = lengths[length]
        if count >= _FEWEST_CUTS and length <= _WIDEST and longer <= count * _MOST_LONGER_SHARE:
            return length
        longer += count
    return None


def _joined_messages(
    pieces: Sequence[_Piece], interesting: Sequence[int], goes_on: Continue
) -> Iterator[Joined]:
    """Yield the lines with an interesting offset together with the words that follow them."""
    starts = [piece.start for piece in pieces]
    for offset in interesting:
        place = bisect_right(starts, offset) - 1
        if place < 0 or offset > pieces[-1].end:
            continue
        first = pieces[place].text
        words = [_unboxed(first)]
        for piece in pieces[place + 1 : place + 1 + _MESSAGE_PIECES]:
            more = goes_on(first.encode(), piece.text.encode())
            said = "" if more is None else more.decode("utf-8", "replace")
            word = _unboxed(said)
            if not word or word[0] in "╰╭─=-" or said.startswith(("  ", "\t")):
                break
            if _COUNTS.match(said):
                break
            words.append(word)
        if len(words) > 1:
            last = pieces[place + len(words) - 1].end
            longest = max(len(word) for word in words)
            # A line as long as any may have been cut inside a word, a shorter one only at a blank.
            for glue in (" ", "") if len(words[0]) == longest else (" ",):
                data = glue.join(words).encode()
                yield Joined(pieces[place].start, pieces[place].end, last, data)


def _unboxed(line: str) -> str:
    """Return what stands between the sides of a box, or the line itself, without outer blanks."""
    return line.strip().strip(_BOX).strip()
