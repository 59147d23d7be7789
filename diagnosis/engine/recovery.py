"""Faults that the run survived: work that went on after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnosis.engine.causality import Recovery
from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.events import Event
from diagnosis.engine.log import Line, Log
from diagnosis.engine.patterns import BytePattern

__all__ = ["find_recoveries"]

# Lines that show work being done: a counter of steps, batches or epochs with its value.
_PROGRESS = BytePattern(
    r"(?i:\b(?:step|iter|iteration|epoch|batch)s?[ \t]*[:=#/]?[ \t]*\[?[ \t]*\d+\b|\d+/\d+ \[\d)"
)
_FINISHED = BytePattern(
    r"(?i:training (?:is )?(?:complete|completed|finished|done)"
    r"|(?:finished|completed|done) (?:training|successfully))"
)
# How far behind a fault the resumed work is looked for.
_REACH_BYTES = 4 << 20
# One line of progress may have been on its way when the fault struck; this many were not.
_LINES_OF_PROGRESS = 3


def find_recoveries(
    log: Log, events: Sequence[Event], ends: Sequence[ProcessEnd]
) -> list[Recovery]:
    """Return the events after which the run went on, each with the line that shows it.

    A run that a launcher saw fail later did go on, but not to its end: only what stands before the
    work resumed counts as recovered.
    """
    recoveries = []
    for event in events:
        line = None if _ended_badly(event, ends) else _proof(log, event)
        if line is not None:
            recoveries.append(Recovery(event, line))
    return recoveries


def _ended_badly(event: Event, ends: Sequence[ProcessEnd]) -> bool:
    rank = event.subject.rank
    return any(end.is_failure and end.subject.rank == rank for end in ends)


def _proof(log: Log, event: Event) -> Line | None:
    """Return the line that shows work going on after all lines of the event, or None."""
    file, start = max((line.key for line, _hit, _role in event.lines), default=event.key)
    after = log.texts[file].bounds(start)[1]
    steps = 0
    for line in _lines_with(log, _PROGRESS, file, after):
        steps += _may_tell(line, event)
        if steps == _LINES_OF_PROGRESS:
            return line
    ended = _lines_with(log, _FINISHED, file, after)
    return next((line for line in ended if _may_tell(line, event)), None)


def _lines_with(log: Log, pattern: BytePattern, file: int, start: int) -> Iterator[Line]:
    data = log.texts[file].data[start : start + _REACH_BYTES]
    offset = 0
    while (found := pattern.search(data, offset)) is not None:
        line = log.line_at(file, start + found.start)
        yield line
        offset = line.end - start


def _may_tell(line: Line, event: Event) -> bool:
    """Say whether a line of progress is of the event's own process, or of one without a rank."""
    rank = line.facts.source.rank
    return rank is None or event.subject.rank is None or rank == event.subject.rank
