"""Lines that show a run at work, sought only behind a line of interest: logs are full of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from diagnosis.engine.log import Line, Log
from diagnosis.engine.patterns import BytePattern

__all__ = ["counter_of", "lines_of_progress", "lines_of_start", "lines_of_success"]

# Lines that show work being done: a counter of steps, batches or epochs with its value.
_PROGRESS = BytePattern(
    r"(?i:\b(?:step|iter|iteration|epoch|batch)s?[ \t]*[:=#/]?[ \t]*\[?[ \t]*\d+\b|\d+/\d+ \[\d)"
)
_BAR = BytePattern(r"\d+/\d+ \[")
_FINISHED = BytePattern(
    r"(?i:training (?:is )?(?:complete|completed|finished|done)"
    r"|(?:finished|completed|done) (?:training|successfully))"
)
# A launcher or a program that begins, or takes up a checkpoint.
_START = BytePattern(
    r"torch/distributed/(?:run|launch)\.py:\d+\] \*{9}|SLURM_RESTART_COUNT=[1-9]"
    r"|(?i:\bresum(?:ing|ed) (?:training )?from\b)"
)
# How far behind a fault the resumed work is looked for.
_REACH_BYTES = 4 << 20
# What is searched at a time, and how far a match may reach into what follows.
_BLOCK_BYTES = 1 << 16
_LONGEST_MATCH = 64


def lines_of_progress(log: Log, line: Line) -> Iterator[Line]:
    """Yield the lines behind `line` that count steps, batches or epochs."""
    return _lines_with(log, _PROGRESS, line.file, line.end)


def counter_of(line: Line) -> bytes:
    """Return what tells one line of progress from another: a bar is redrawn without any."""
    bar = _BAR.search(line.facts.message)
    return line.facts.message if bar is None else line.facts.message[bar.start : bar.end]


def lines_of_success(log: Log, line: Line) -> Iterator[Line]:
    """Yield the lines behind `line` that say that the work is done."""
    return _lines_with(log, _FINISHED, line.file, line.end)


def lines_of_start(log: Log, line: Line) -> Iterator[Line]:
    """Yield the lines behind `line` on which a run begins or is taken up."""
    return _lines_with(log, _START, line.file, line.end)


def _lines_with(log: Log, pattern: BytePattern, file: int, start: int) -> Iterator[Line]:
    """Yield the lines behind `start` with a match; a block is searched once, however many ask."""
    size = len(log.texts[file].data)
    last = min(start + _REACH_BYTES, size)
    for block in range(start // _BLOCK_BYTES, last // _BLOCK_BYTES + 1):
        known = log.searched.get((pattern, file, block))
        if known is None:
            known = log.searched[pattern, file, block] = list(_places(log, pattern, file, block))
        for place in known[bisect_left(known, start) :]:
            yield log.line_at(file, place)


def _places(log: Log, pattern: BytePattern, file: int, block: int) -> Iterator[int]:
    """Yield where the first match of each line begins, of the lines that match within a block."""
    start = block * _BLOCK_BYTES
    data = log.texts[file].data[start : start + _BLOCK_BYTES + _LONGEST_MATCH]
    offset = 0
    while (found := pattern.search(data, offset)) is not None and found.start < _BLOCK_BYTES:
        yield start + found.start
        offset = data.find(b"\n", found.end)
        if offset < 0:
            return
