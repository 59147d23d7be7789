"""Finds the rank of a process by where it runs, among the processes of known rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnosis.engine.sources import Source

__all__ = ["NAMED_PLACES", "PLACES", "Placed"]

# Where a process runs, the narrowest first.
PLACES = ("pod", "host", "label")
NAMED_PLACES = ("pod", "host")
# Where more may fit, no one of them is the only one; a look-up stays short whatever a log says.
_MOST_CANDIDATES = 512

# Of a process: pod, host, label.
_Where = tuple[str | None, ...]


class Placed:
    """Processes of known rank that share something else: a pid, or a local rank."""

    def __init__(self, sources: Iterable[Source]) -> None:
        """Take the processes; those without a rank are passed over."""
        placed = dict.fromkeys(
            (source.rank, _where(source)) for source in sources if source.rank is not None
        )
        self._ranks = {rank for rank, _ in placed}
        self._by_place: list[dict[str | None, list[tuple[int, _Where]]]] = [{} for _ in PLACES]
        for known in placed:
            for index, at in zip(self._by_place, known[1], strict=True):
                index.setdefault(_short(at), []).append(known)

    def rank_near(self, asked: Source) -> int | None:
        """Return the only rank of those that may be on one node with `asked`: no place differs."""
        where = _where(asked)
        if not any(where):
            return _only(self._ranks)
        return _only(rank for rank, known in self._candidates(where) if _agree(known, where))

    def rank_at(self, asked: Source) -> int | None:
        """Return the only rank of those that share a place with `asked`, where no place differs."""
        where = _where(asked)
        return _only(
            rank
            for rank, known in self._candidates(where)
            if _agree(known, where) and _share(known, where)
        )

    def _candidates(self, where: _Where) -> Sequence[tuple[int, _Where]]:
        """Return who may fit, by the place that leaves the fewest; nobody where they are many."""
        fewest = min(
            (
                (index.get(_short(at), []), index.get(None, []))
                for index, at in zip(self._by_place, where, strict=True)
                if at is not None
            ),
            key=lambda lists: sum(map(len, lists)),
            default=([], []),
        )
        return [] if sum(map(len, fewest)) > _MOST_CANDIDATES else [*fewest[0], *fewest[1]]


def _where(source: Source) -> _Where:
    return source.pod, source.host, source.label


def _short(name: str | None) -> str | None:
    """Return a name without the domain that it may have."""
    return name if name is None else name.partition(".")[0]


def _agree(one: _Where, other: _Where) -> bool:
    """Say whether two processes may be on one node: no place is told of both and differs."""
    return all(
        left is None or right is None or _same_place(left, right)
        for left, right in zip(one, other, strict=True)
    )


def _share(one: _Where, other: _Where) -> bool:
    return any(
        left is not None and right is not None for left, right in zip(one, other, strict=True)
    )


def _same_place(one: str, other: str) -> bool:
    """Compare names of hosts, one of which may have its domain."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _only(ranks: Iterable[int]) -> int | None:
    """Return the one rank, or None where there is none or another; looks no further than that."""
    found: int | None = None
    for rank in ranks:
        if found is not None and rank != found:
            return None
        found = rank
    return found
