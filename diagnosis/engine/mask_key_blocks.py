"""Finds the body of a private key: lines of base64 below its first line, or escaped in one line.

The first and the last line stay, and each line of the body becomes the same placeholder, so that
twenty lines are twenty lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diagnosis.engine.mask_spans import LINE_END, NOTHING, Find, Found, Range, end_of

if TYPE_CHECKING:
    from diagnosis.engine.mask_files import Mask

__all__ = ["key_block"]

# A key of 16,384 bits has 200 lines; a block without an end is given up in time.
_MOST_LINES = 4000
# Lines of other ranks that may stand among the key's.
_MOST_FOREIGN_LINES = 8
# Base64 that fills its line must be so long to be a body; behind a log's prefix, so long.
_LEAST_WHOLE, _LEAST_PREFIXED = 16, 40
# A longer line is no line of a key.
_LONGEST_LINE = 4096

_HEADER_REST = re.compile(rb"(?:[A-Z0-9 +]|%20){0,40}+-{0,5}+")
_ESCAPED_END = rb"(?:\\++[nrt]|%0[AaDd])"
_CLOSING = rb"[\"',;+)\]\\ \t]"
_INLINE_BODY = re.compile(rb"(?:" + _ESCAPED_END + rb"|[ \t]|[A-Za-z0-9+/=]|%[0-9A-Fa-f]{2})*+")
_INLINE_PIECE = re.compile(
    _ESCAPED_END + rb"|[ \t]++|(?P<run>(?:[A-Za-z0-9+/=]|%(?!0[AaDd])[0-9A-Fa-f]{2})++)"
)
# Behind the first line of a block over several lines: what closes a quoted string, then the end.
_HEADER_END = re.compile(rb"(?:" + _ESCAPED_END + rb"|" + _CLOSING + rb"){0,16}+(?=[\r\n])")
_LINE = re.compile(rb"[^\r\n]*+")
_RUN = re.compile(rb"[A-Za-z0-9+/=]++")
_BEHIND_RUN = re.compile(rb"(?:" + _ESCAPED_END + rb"|" + _CLOSING + rb")*+\Z")
_BEFORE_WHOLE_RUN = b" \t\"'bB>|"
_LAST_LINE = re.compile(rb"END|Private-MAC")
_MARK_LINE = re.compile(rb"-----|---- |Private-MAC")


def key_block(mask: Mask) -> Find:
    """Return the finder of private keys; the hit ends in the block's first line."""

    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> Found:
        if end < floor:
            return NOTHING
        ranges, reached = _body(text, end_of(_HEADER_REST, text, end))
        identity = b"".join(text[start:stop] for start, stop in ranges)
        return [(start, stop, mask.kind, identity) for start, stop in ranges], reached

    return find


def _body(text: bytes, start: int) -> tuple[list[Range], int]:
    """Return where the body stands behind the first line's begin, and how far it was sought."""
    inline = _inline_body(text, start)
    reached = inline[-1][1] if inline else start
    header_end = _HEADER_END.match(text, reached)
    if not header_end:
        return inline, reached
    lines, reached = _body_lines(text, header_end.end())
    return inline + lines, reached


def _inline_body(text: bytes, start: int) -> list[Range]:
    """Return the body that stands in the first line, its line ends escaped, lost or spaces."""
    stop = end_of(_INLINE_BODY, text, start)
    pieces = _INLINE_PIECE.finditer(text, start, stop)
    runs = [piece.span("run") for piece in pieces if piece["run"]]
    if sum(end - begin for begin, end in runs) < _LEAST_WHOLE:
        return []
    return [(runs[0][0], runs[-1][1])]


def _body_lines(text: bytes, position: int) -> tuple[list[Range], int]:
    """Return the lines of the body below the line that ends at `position`, and where they end.

    Lines of others among them are passed over. The block ends at its last line, at the first line
    of another, or where too many lines are others'. A short line counts if the last line follows
    and it begins where the lines before began.
    """
    ranges: list[Range] = []
    short: Range | None = None
    column = -1
    foreign = 0
    for _ in range(_MOST_LINES):
        line_end = LINE_END.match(text, position)
        if not line_end or foreign > _MOST_FOREIGN_LINES:
            break
        begin = line_end.end()
        stop = end_of(_LINE, text, begin)
        line = text[begin:stop]
        if _MARK_LINE.search(line):
            if short and _LAST_LINE.search(line):
                ranges.append(short)
            break
        position = stop
        run = _run_at_end(line)
        if run and _is_body(line, run):
            ranges.append((begin + run[0], begin + run[1]))
            foreign, short, column = 0, None, run[0]
        elif line.strip():
            foreign += 1
            alike = run and run[0] == column
            short = (begin + run[0], begin + run[1]) if run and alike else None
    return ranges, position


def _run_at_end(line: bytes) -> Range | None:
    """Return the base64 that ends the line, but for what closes a quoted string."""
    if len(line) > _LONGEST_LINE:
        return None
    closing = _BEHIND_RUN.search(line)
    stop = closing.start() if closing else len(line)
    runs = [run.span() for run in _RUN.finditer(line, 0, stop)]
    return runs[-1] if runs and runs[-1][1] == stop else None


def _is_body(line: bytes, run: Range) -> bool:
    whole = not line[: run[0]].strip(_BEFORE_WHOLE_RUN)
    return run[1] - run[0] >= (_LEAST_WHOLE if whole else _LEAST_PREFIXED)
