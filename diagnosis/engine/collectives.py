"""Which collective each rank entered last, by the numbers that time-outs tell.

Numbers count within a process group, and those of different groups say nothing of each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diagnosis.engine.log import Log
from diagnosis.engine.matches import Observation, capture

__all__ = ["TIMEOUTS", "group_of", "last_collectives", "numbered_by_group", "told_whole"]

TIMEOUTS = frozenset({"gloo-collective-timeout", "nccl-watchdog-timeout"})
_GROUP = r"\[PG (?:ID [^ \]\n]+ PG )?GUID (?P<group>[^ \]\n]+)"
# What tells it, the better one first: a rank may enqueue more than the one that it waits in.
_NUMBERS = ("last_enqueued", "seq")

# By rank: a number, and who says so.
Numbered = Mapping[int, tuple[int, Observation]]


def last_collectives(
    log: Log, observations: Sequence[Observation], rank_of: Mapping[tuple[int, int], int]
) -> Mapping[int, int]:
    """Return by rank the number of the last collective that it entered, where the log tells it.

    All are of one process group, the one of which most ranks tell, and of one kind of number.
    """
    for name in _NUMBERS:
        groups = numbered_by_group(log, observations, rank_of, name).values()
        widest = max(groups, key=len, default={})
        if len(widest) > 1:
            return {rank: number for rank, (number, _told_by) in sorted(widest.items())}
    return {}


def numbered_by_group(
    log: Log,
    observations: Sequence[Observation],
    rank_of: Mapping[tuple[int, int], int],
    name: str,
) -> Mapping[str, Numbered]:
    """Return by group and rank the highest number of a kind that a rank tells, and who says so.

    A kind is the name of a capture, as "seq" or "last_enqueued".
    """
    groups: dict[str, dict[int, tuple[int, Observation]]] = {}
    for each in observations:
        rank = rank_of.get(each.key)
        number = each.captures.get(name, "")
        told = number.isdigit() and told_whole(each, name)
        if rank is not None and told and each.failure in TIMEOUTS:
            numbered = groups.setdefault(group_of(log, each), {})
            known = numbered.get(rank)
            if known is None or int(number) > known[0]:
                numbered[rank] = int(number), each
    return groups


def group_of(log: Log, observation: Observation) -> str:
    """Return the process group that an observation names, "" where it names none."""
    text = log.around(observation.line, observation.hit)
    return capture(_GROUP, text).get("group", "")


def told_whole(observation: Observation, *names: str) -> bool:
    """Say whether all of these were captured, and none of them where the line was cut off.

    Such a line always goes on behind its values.
    """
    end = observation.line.facts.message.rstrip()
    values = [observation.captures.get(name) for name in names]
    return all(value and not end.endswith(value.encode()) for value in values)
