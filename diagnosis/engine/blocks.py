"""Ranks dealt out to nodes in blocks of equal size, as launchers do: 0-7 here, 8-15 there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from diagnosis.engine.places import PLACES
from diagnosis.engine.sources import Source

__all__ = ["Blocks", "read_blocks"]

# One node alone does not show in what order ranks are dealt.
_FEWEST_NODES = 2


@dataclass(frozen=True, slots=True)
class Blocks:
    """How many ranks a node has, and by kind of place and place the first of them."""

    size: int
    first: Mapping[tuple[str, str], int]

    def rank_of(self, asked: Source) -> int | None:
        """Return the rank that a local rank has where it runs, or None where that is unknown."""
        if asked.local_rank is None or asked.local_rank >= self.size:
            return None
        for kind in PLACES:
            first = self.first.get((kind, getattr(asked, kind) or ""))
            if first is not None:
                return first + asked.local_rank
        return None


def read_blocks(
    ranked: Iterable[Source],
    *,
    size: int | None,
    world: int | None,
    nodes: int | None,
    labels_are_nodes: bool,
) -> Blocks | None:
    """Return the blocks in which all ranks of known place lie, or None where they lie otherwise.

    `size` is how many ranks a node has, as far as that is told; else it is told by `world` and
    `nodes`, or by the ranks themselves where no node lacks more than one.
    """
    placed: dict[str, dict[str, set[int]]] = {}
    for source in ranked:
        for kind in PLACES:
            if (place := getattr(source, kind)) is not None and source.rank is not None:
                placed.setdefault(kind, {}).setdefault(place, set()).add(source.rank)
    for kind in PLACES:
        ranks_of = placed.get(kind, {})
        numbered = kind == "label" and labels_are_nodes
        told = size or _told_size(world, nodes) or _shown_size(ranks_of.values(), world)
        if told and len(ranks_of) >= _FEWEST_NODES and _is_dealt(ranks_of, told, numbered=numbered):
            first = {(kind, place): _first(ranks, told) for place, ranks in ranks_of.items()}
            if numbered and world:
                first |= {(kind, str(node)): node * told for node in range(world // told)}
            return Blocks(told, first)
    return None


def _told_size(world: int | None, nodes: int | None) -> int | None:
    return world // nodes if world and nodes and world % nodes == 0 else None


def _shown_size(nodes: Iterable[set[int]], world: int | None) -> int | None:
    """Return how many ranks each node has if all are shown but one of a node, or fewer."""
    shown = list(nodes)
    whole = world or max((max(ranks) for ranks in shown), default=-1) + 1
    if not shown or whole % len(shown):
        return None
    size = whole // len(shown)
    return size if size > 1 and all(len(ranks) >= size - 1 for ranks in shown) else None


def _is_dealt(ranks_of: Mapping[str, set[int]], size: int, *, numbered: bool) -> bool:
    """Say whether each node's ranks lie in one block, and no two nodes share one.

    Where nodes are numbered, each has the block of its number.
    """
    blocks = {place: {rank // size for rank in ranks} for place, ranks in ranks_of.items()}
    if any(len(found) > 1 for found in blocks.values()):
        return False
    if numbered:
        return all(found == {int(place)} for place, found in blocks.items() if place.isdigit())
    return len({min(found) for found in blocks.values()}) == len(blocks)


def _first(ranks: set[int], size: int) -> int:
    return min(ranks) // size * size
