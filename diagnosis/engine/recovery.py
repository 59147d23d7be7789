"""Faults that the run survived: work that went on after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from diagnosis.engine.attempts import Attempts
from diagnosis.engine.causality import Recovery
from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.events import Event
from diagnosis.engine.log import Line, Log
from diagnosis.engine.progress import (
    counter_of,
    is_request_served,
    lines_of_answers,
    lines_of_progress,
    lines_of_start,
    lines_of_success,
)

__all__ = ["find_recoveries"]

# One line of progress may have been on its way when the fault struck; this many were not.
_LINES_OF_PROGRESS = 3
# Likewise of requests, each on its own; one that the server refuses shows that it judges.
_ANSWERS = 3
# A run at work shows that in so many lines; where a bar stands still, no more are looked at.
_MOST_LINES = 512
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
    last = _Last(events, ends)
    recoveries = []
    for event in events:
        line = _proof(log, event, last, attempts)
        if line is not None and not _explains_the_end(log, event, line, last):
            recoveries.append(Recovery(event, line))
    return recoveries


class _Last:
    """Where in each file the last of something stands, so that each event asks and none counts."""

    def __init__(self, events: Sequence[Event], ends: Sequence[ProcessEnd]) -> None:
        failed = [end for end in ends if end.is_failure]
        self._ends = _greatest((end.line.file, end.line) for end in failed)
        self._ends_of_rank = _greatest(
            ((end.line.file, end.subject.rank), end.line) for end in failed
        )
        self._events = _greatest((event.first.file, event.first) for event in events)
        faults = [event for event in events if event.role in _FAULTS]
        self._known = _by_file(event for event in faults if event.failure is not None)
        self._unknown = _by_file(event for event in faults if event.failure is None)

    def end_behind(self, line: Line) -> bool:
        """Say whether any process ended badly behind the line."""
        return self._ends.get(line.file, -1) > line.start

    def end_of_rank_behind(self, rank: int | None, line: Line) -> bool:
        """Say whether the process of this rank ended badly behind the line."""
        return self._ends_of_rank.get((line.file, rank), -1) > line.start

    def event_behind(self, line: Line) -> bool:
        """Say whether anything begins behind the line."""
        return self._events.get(line.file, -1) > line.start

    def faults_behind(self, line: Line, name: str) -> Iterator[str | None]:
        """Yield what else can explain an end: slugs, and None for what no signature knows."""
        for start, fault in self._known.get(line.file, ()):
            if start > line.start and fault != name:
                yield fault
        # Of two names, one at least is another.
        for start, fault in self._unknown.get(line.file, ())[:2]:
            if start > line.start and fault != name:
                yield None


def _by_file(events: Iterable[Event]) -> Mapping[int, Sequence[tuple[int, str]]]:
    """Return for each file where the last event of each name begins, the last first."""
    starts = _greatest(((event.first.file, event.name), event.first) for event in events)
    by_file: dict[int, list[tuple[int, str]]] = {}
    for (file, name), start in starts.items():
        by_file.setdefault(file, []).append((start, name))
    return {file: sorted(found, reverse=True) for file, found in by_file.items()}


_Key = TypeVar("_Key")


def _greatest(lines: Iterable[tuple[_Key, Line]]) -> dict[_Key, int]:
    """Return where the last line of each key stands."""
    last: dict[_Key, int] = {}
    for key, line in lines:
        last[key] = max(line.start, last.get(key, -1))
    return last


def _proof(log: Log, event: Event, last: _Last, attempts: Attempts) -> Line | None:
    """Return the line that shows work going on after the event, or None."""
    restart = attempts.next_start(event.first)
    if restart is not None:
        return _work_behind(log, restart, rank=None)
    if event.failure in _ENDED_BY_SCHEDULER:
        return next(lines_of_start(log, _last_line(event)), None)
    if last.end_of_rank_behind(event.subject.rank, event.first):
        # Nothing behind that is its own work.
        return None
    # Who is waited for has come once any rank works on.
    rank = None if event.subject.named else event.subject.rank
    return _work_behind(log, _last_line(event), rank)


def _explains_the_end(log: Log, event: Event, proof: Line, last: _Last) -> bool:
    """Say whether the run ended badly behind `proof`, and nothing but this fault says why."""
    if event.role not in _FAULTS:
        return False
    others = list(last.faults_behind(proof, event.name))
    if not others:
        return last.event_behind(proof) or last.end_behind(proof)
    explains = log.compiled.catalogue.explains
    return event.failure is not None and any(
        each is not None and explains(event.failure, each) for each in others
    )


def _last_line(event: Event) -> Line:
    return max((witness.line for witness in event.lines), key=lambda line: line.key)


def _work_behind(log: Log, fault: Line, rank: int | None) -> Line | None:
    """Return a line that shows work going on behind `fault`, or None."""
    steps: set[bytes] = set()
    for line in islice(lines_of_progress(log, fault, rank), _MOST_LINES):
        steps.add(counter_of(line))
        if len(steps) == _LINES_OF_PROGRESS:
            return line
    done = next(lines_of_success(log, fault, rank), None)
    return done if done is not None else _service_behind(log, fault, rank)


def _service_behind(log: Log, fault: Line, rank: int | None) -> Line | None:
    """Return a line that shows a server serving requests behind `fault`, or None."""
    answers = list(islice(lines_of_answers(log, fault, rank), _MOST_LINES))
    if len(answers) < _ANSWERS:
        return None
    return next((line for line in reversed(answers) if is_request_served(line)), None)
