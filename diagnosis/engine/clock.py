"""When events happened: the attempt first, then the order of the log."""

from __future__ import annotations

from dataclasses import dataclass

from diagnosis.engine.attempts import Attempts
from diagnosis.engine.events import Event

__all__ = ["Clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    """Orders the events of a log."""

    attempts: Attempts

    def attempt(self, event: Event) -> int:
        """Return the attempt of an elastic run that the event belongs to, from 0."""
        if event.subject.attempt is not None:
            return event.subject.attempt
        return self.attempts.of(event.first)

    def order(self, event: Event) -> tuple[object, ...]:
        """Return the sort key of the event's moment: what a launcher only repeats comes last."""
        return (event.reported, event.key, event.name)
