"""Faults that the run survived: work that went on after them."""

from __future__ import annotations

from collections.abc import Sequence

from diagnosis.engine.attempts import Attempts
from diagnosis.engine.causality import Recovery
from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.events import Event
from diagnosis.engine.log import Line, Log
from diagnosis.engine.progress import (
    counter_of,
    lines_of_progress,
    lines_of_start,
    lines_of_success,
)

__all__ = ["find_recoveries"]

# One line of progress may have been on its way when the fault struck; this many were not.
_LINES_OF_PROGRESS = 3
# A job that its scheduler ended in the ordinary course goes on when it is started again.
_ENDED_BY_SCHEDULER = frozenset({"slurm-time-limit", "slurm-preempted", "slurm-node-fail"})
# What can explain that a run ended badly.
_FAULTS = ("cause", "crash", "symptom")


def find_recoveries(
    log: Log, events: Sequence[Event], ends: Sequence[ProcessEnd], attempts: Attempts
) -> list[Recovery]:
    """Return the events after which the run went on, each with the line that shows it.

    Either the process itself worked on, or an agent started the workers again and they worked on.
    A run that came to a bad end later has not recovered from the last fault that can explain it.
    """
    recoveries = []
    for event in events:
        line = _proof(log, event, ends, attempts)
        if line is not None and not _explains_the_end(log, event, line, events, ends):
            recoveries.append(Recovery(event, line))
    return recoveries


def _proof(log: Log, event: Event, ends: Sequence[ProcessEnd], attempts: Attempts) -> Line | None:
    """Return the line that shows work going on after the event, or None."""
    restart = attempts.next_start(event.first)
    if restart is not None:
        return _work_behind(log, restart, rank=None)
    if event.failure in _ENDED_BY_SCHEDULER:
        return next(lines_of_start(log, _last_line(event)), None)
    if _ended_badly(event, ends):
        return None
    return _work_behind(log, _last_line(event), rank=event.subject.rank)


def _explains_the_end(
    log: Log, event: Event, proof: Line, events: Sequence[Event], ends: Sequence[ProcessEnd]
) -> bool:
    """Say whether the run ended badly behind `proof`, and nothing but this fault says why."""
    if event.role not in _FAULTS:
        return False
    later = [each for each in events if _is_behind(each.first, proof) and each is not event]
    faults = [each for each in later if each.role in _FAULTS and each.name != event.name]
    if faults:
        return event.failure is not None and any(
            each.failure is not None
            and log.compiled.catalogue.explains(event.failure, each.failure)
            for each in faults
        )
    return bool(later) or any(end.is_failure and _is_behind(end.line, proof) for end in ends)


def _is_behind(line: Line, proof: Line) -> bool:
    return line.file == proof.file and line.start > proof.start


def _ended_badly(event: Event, ends: Sequence[ProcessEnd]) -> bool:
    """Say whether the event's process ended after it: nothing behind that is its own work."""
    rank = event.subject.rank
    return any(
        end.is_failure and end.subject.rank == rank and _is_behind(end.line, event.first)
        for end in ends
    )


def _last_line(event: Event) -> Line:
    return max((witness.line for witness in event.lines), key=lambda line: line.key)


def _work_behind(log: Log, fault: Line, rank: int | None) -> Line | None:
    """Return a line that shows work going on behind `fault`, or None."""
    steps: set[bytes] = set()
    for line in lines_of_progress(log, fault):
        if _may_tell(line, rank):
            steps.add(counter_of(line))
        if len(steps) == _LINES_OF_PROGRESS:
            return line
    ended = lines_of_success(log, fault)
    return next((line for line in ended if _may_tell(line, rank)), None)


def _may_tell(line: Line, rank: int | None) -> bool:
    """Say whether a line of progress is of this rank, or of a process without one."""
    told = line.facts.source.rank
    return told is None or rank is None or told == rank
