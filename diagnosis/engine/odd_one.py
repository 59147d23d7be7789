"""Which rank runs another collective than all others, where each says which peer differs.

torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp compares a rank's collective with each peer's in
order, and its error names the first that differs. So the odd one names the first of the others, and
all others name the odd one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diagnosis.engine.events import Event

__all__ = ["OddOne", "find_odd_one"]

# Of two that differ neither is the odd one.
_FEWEST_ACCUSERS = 2


@dataclass(frozen=True, slots=True)
class OddOne:
    """The rank that differs from all others, and the events in which those say so."""

    rank: int
    told_by: tuple[Event, ...]


def find_odd_one(reports: Sequence[Event]) -> OddOne | None:
    """Return the rank of which all others say that it differs from them, or None.

    Ranks are numbered within a process group there. That the group is the whole world shows where
    those that speak are known, and bear the same numbers.
    """
    accusing = [event for event in reports if "other_rank" in event.captures]
    if not _speak_for_themselves(accusing):
        return None
    for rank in sorted({_accused(event) for event in accusing}):
        others = [event for event in accusing if event.subject.rank != rank]
        agreed = all(_accused(event) == rank for event in others)
        if agreed and len({event.subject.rank for event in others}) >= _FEWEST_ACCUSERS:
            return OddOne(rank, tuple(others))
    return None


def _speak_for_themselves(events: Sequence[Event]) -> bool:
    return all(str(event.subject.rank) == event.captures.get("group_rank") for event in events)


def _accused(event: Event) -> int:
    return int(event.captures["other_rank"])
