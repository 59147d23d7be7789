"""Lines that show a run at work, sought only behind a line of interest: logs are full of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from diagnosis.engine.log import Line, Log
from diagnosis.engine.patterns import BytePattern
from diagnosis.engine.probes import COUNTER

__all__ = [
    "counter_of",
    "is_request_served",
    "lines_of_answers",
    "lines_of_progress",
    "lines_of_start",
    "lines_of_success",
    "shows_bar",
    "shows_work",
]

# Lines that show work being done.
_PROGRESS = BytePattern(rf"{COUNTER}|\d+/\d+ \[\d|\d%\|")
_BAR = BytePattern(r"\d+/\d+ \[|\| ?\d+/\d+\b")
_DRAWN = BytePattern(r"\d{1,3}%\|")
_FINISHED = BytePattern(
    r"(?i:training (?:is )?(?:complete|completed|finished|done)"
    r"|(?:finished|completed|done) (?:training|successfully)"
    r"|\ball (?:\d+ )?(?:epochs|steps|iterations) (?:are )?(?:complete|completed|finished|done)\b)"
    # pytest's last line where nothing failed: what the tests provoked was meant.
    r"|=== \d+ passed(?:, \d+ (?:skipped|deselected|xfailed|xpassed|warnings?)){0,4} in \d"
)
_SUCCESS = BytePattern(r"(?i:\bsuccess(?:ful(?:ly)?)?\b)")
# A launcher or a program that begins, or takes up a checkpoint.
_START = BytePattern(
    r"torch/distributed/(?:run|launch)\.py:\d+\] \*{9}|SLURM_RESTART_COUNT=[1-9]"
    r"|(?i:\bresum(?:ing|ed) (?:training )?from\b)"
    # lightning/pytorch/trainer/connectors/checkpoint_connector.py
    r"|Restor(?:ing|ed all) states from the checkpoint"
)
# A request that a server did, or refused by its own judgement, in the access log of uvicorn,
# gunicorn, werkzeug or nginx. What asks for health does so with GET, and its answer is no work.
_REQUEST = r'/[^ "\n]{0,32} HTTP/[12][.\d]{0,2}"'
_ANSWER = BytePattern(rf'"(?:POST {_REQUEST} 2|[A-Z]{{3,7}} {_REQUEST} 4)\d\d')
_SERVED = BytePattern(rf'"POST {_REQUEST} 2')
# How far behind a fault the resumed work is looked for.
_REACH_BYTES = 4 << 20
# What is searched at a time, and how far a match may reach into what follows.
_BLOCK_BYTES = 1 << 14
_LONGEST_MATCH = 64


def lines_of_progress(log: Log, line: Line, rank: int | None = None) -> Iterator[Line]:
    """Yield the lines behind `line` that count steps, batches or epochs.

    With `rank`, those that it may have printed: its own, and those of which no rank is known.
    """
    return _lines_with(log, _PROGRESS, line, rank)


def counter_of(line: Line) -> bytes:
    """Return what tells one line of progress from another: a bar is redrawn without any."""
    bar = _BAR.search(line.facts.message)
    return line.facts.message if bar is None else line.facts.message[bar.start : bar.end]


def shows_bar(text: bytes) -> bool:
    """Say whether a text holds a progress bar as tqdm draws it."""
    return _DRAWN.search(text) is not None


def shows_work(line: Line) -> bool:
    """Say whether a line counts steps, batches or epochs, or says that something is done."""
    message = line.facts.message
    return any(pattern.search(message) for pattern in (_PROGRESS, _FINISHED, _SUCCESS))


def lines_of_success(log: Log, line: Line, rank: int | None = None) -> Iterator[Line]:
    """Yield the lines behind `line` that say that the work is done; `rank` as above."""
    return _lines_with(log, _FINISHED, line, rank)


def lines_of_answers(log: Log, line: Line, rank: int | None = None) -> Iterator[Line]:
    """Yield the lines behind `line` on which a server did or refused a request; `rank` as above."""
    return _lines_with(log, _ANSWER, line, rank)


def is_request_served(answer: Line) -> bool:
    """Say whether a server did what was asked of it, on a line of `lines_of_answers`."""
    return _SERVED.search(answer.facts.message) is not None


def lines_of_start(log: Log, line: Line) -> Iterator[Line]:
    """Yield the lines behind `line` on which a run begins or is taken up."""
    return _lines_with(log, _START, line, None)


def _lines_with(log: Log, pattern: BytePattern, behind: Line, rank: int | None) -> Iterator[Line]:
    """Yield the lines behind one with a match; a block is searched once, however many ask."""
    file, start = behind.file, behind.end
    last = min(start + _REACH_BYTES, len(log.texts[file].data))
    for block in range(start // _BLOCK_BYTES, last // _BLOCK_BYTES + 1):
        known = _known(log, pattern, file, block)
        places = known if rank is None else _told_by(log, pattern, file, block, rank)
        for place in places[bisect_left(places, start) :]:
            yield log.line_at(file, place)


def _known(log: Log, pattern: BytePattern, file: int, block: int) -> Sequence[int]:
    known = log.searched.get((pattern, file, block))
    if known is None:
        known = log.searched[pattern, file, block] = list(_places(log, pattern, file, block))
    return known


def _told_by(log: Log, pattern: BytePattern, file: int, block: int, rank: int) -> Sequence[int]:
    """Return the places in a block that a rank may have printed, ascending."""
    by_rank = log.searched_by_rank.get((pattern, file, block))
    if by_rank is None:
        by_rank = log.searched_by_rank[pattern, file, block] = {}
        for place in _known(log, pattern, file, block):
            told = log.line_at(file, place).facts.source.rank
            by_rank.setdefault(told, []).append(place)
    return sorted((*by_rank.get(None, ()), *by_rank.get(rank, ())))


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
