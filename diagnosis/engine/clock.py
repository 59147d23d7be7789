"""When events happened: the attempt first, then the order of the log, across files the time."""

from __future__ import annotations

from dataclasses import dataclass

from diagnosis.engine.attempts import Attempts
from diagnosis.engine.events import Event
from diagnosis.engine.log import Line, Log
from diagnosis.engine.skew import Skew
from diagnosis.engine.stamps import DATED

__all__ = ["Clock"]

# How far back the stamp of a line without one is looked for, in lines.
_STAMP_REACH = 60
# Moments closer than this are not told apart: launchers stamp whole seconds, and clocks drift.
_RESOLUTION = 1.0


@dataclass(frozen=True, slots=True)
class Clock:
    """Orders the events of a log.

    Lines of one file stand in the order in which they came. Files of several hosts are compared by
    their stamps, corrected by what is known of the clocks.
    """

    log: Log
    attempts: Attempts
    skew: Skew

    def attempt(self, event: Event) -> int:
        """Return the attempt of an elastic run that the event belongs to, from 0."""
        if event.subject.attempt is not None:
            return event.subject.attempt
        return self.attempts.of(event.first)

    def order(self, event: Event) -> tuple[object, ...]:
        """Return the sort key of the event's moment: what a launcher only repeats comes last."""
        return (event.reported, self._moment(event) or 0.0, event.key, event.name)

    def tied(self, one: Event, other: Event) -> bool:
        """Say whether the log does not tell which of two events came first.

        Ranks that fail alike, each within the traceback of the other, fail together.
        """
        if one.first.file == other.first.file:
            return one.name == other.name and _interleave(one, other)
        first, second = self._moment(one), self._moment(other)
        if first is None or second is None or not self.skew.known:
            return True
        return abs(first - second) < _RESOLUTION

    def _moment(self, event: Event) -> float | None:
        """Return the event's time in seconds; None within one file, and where a file has none."""
        if len(self.log.texts) < 2:
            return None
        seconds = self._stamp(event.first)
        if seconds is None:
            return None
        host = event.subject.host or self.log.name(event.first)
        return self.skew.corrected(host, seconds)

    def _stamp(self, line: Line) -> float | None:
        """Return the time of the line, or of the nearest line above that has one."""
        for _ in range(_STAMP_REACH):
            if line.facts.time is not None and line.facts.clock in DATED:
                return line.facts.time
            if line.start == 0:
                return None
            line = self.log.line_at(line.file, line.start - 1)
        return None


def _interleave(one: Event, other: Event) -> bool:
    """Say whether the traceback of the later event begins before that of the earlier one ends."""
    first, second = sorted((one, other), key=lambda event: event.key)
    return (
        first.begun is not None
        and second.begun is not None
        and second.begun.start < first.first.start
    )
