"""Ranks of nodes that hold one each and are numbered: worker-4 has rank 5 where worker-1 has 2.

Indexed jobs and stateful sets number their pods so, and the launchers of one process a pod the
ranks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["rank_by_number"]

_NUMBERED = re.compile(r"(?P<stem>.*\D)(?P<number>\d{1,6})")
# One node alone does not show how ranks are numbered.
_FEWEST_NODES = 2


def rank_by_number(place: str, ranks: Mapping[str, int]) -> int | None:
    """Return the rank at a place by the ranks of places with names of its kind; None if unclear.

    `ranks` are those of the places that hold one each.
    """
    asked = _NUMBERED.fullmatch(place)
    if asked is None or place in ranks:
        return None
    distances = [
        rank - int(known["number"])
        for other, rank in ranks.items()
        if (known := _NUMBERED.fullmatch(other)) is not None and known["stem"] == asked["stem"]
    ]
    if len(distances) < _FEWEST_NODES or len(set(distances)) > 1:
        return None
    rank = int(asked["number"]) + distances[0]
    return rank if rank >= 0 and rank not in ranks.values() else None
