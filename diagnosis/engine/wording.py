"""How ranks are named in the sentences of a verdict."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ranks_in_words"]

_RANKS_IN_WORDS = 6


def ranks_in_words(ranks: Sequence[int]) -> str:
    """Name some ranks, or count them where they are many; nothing where there are none."""
    if not ranks:
        return ""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > _RANKS_IN_WORDS:
        return f"{len(ranks)} ranks"
    return "ranks " + ", ".join(str(rank) for rank in ranks)
