from __future__ import annotations

import pytest

from diagnosis.engine.blocks import Blocks, read_blocks
from diagnosis.engine.sources import Source


def blocks(
    *ranks: tuple[str, int], kind: str = "pod", numbered: bool = False, **told: int | None
) -> Blocks | None:
    counts = {"size": None, "world": None, "nodes": None} | told
    sources = [Source(rank=rank, **{kind: place}) for place, rank in ranks]  # type: ignore[arg-type]
    return read_blocks(sources, labels_are_nodes=numbered, **counts)


def asked(place: str, local_rank: int, kind: str = "pod") -> Source:
    return Source(local_rank=local_rank, **{kind: place})  # type: ignore[arg-type]


TWO_PODS = (("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 6), ("b", 7))


def test_a_rank_that_never_spoke_is_counted_from_the_first_of_its_node() -> None:
    found = blocks(*TWO_PODS)
    assert found is not None
    assert found.rank_of(asked("b", 1)) == 5
    assert found.rank_of(asked("a", 3)) == 3


def test_a_place_that_nobody_knows_and_a_local_rank_that_no_node_has_are_none() -> None:
    found = blocks(*TWO_PODS)
    assert found is not None
    assert found.rank_of(asked("c", 1)) is None
    assert found.rank_of(asked("b", 4)) is None
    assert found.rank_of(Source(pod="b")) is None


def test_a_numbered_node_without_a_known_rank_has_the_block_of_its_number() -> None:
    found = blocks(("0", 2), ("1", 9), ("3", 30), kind="label", numbered=True, world=32, nodes=4)
    assert found is not None
    assert found.rank_of(asked("2", 5, "label")) == 21


@pytest.mark.parametrize(
    "ranks",
    [
        (("0", 2), ("1", 17), ("3", 30)),  # numbered otherwise than dealt
        (("0", 2), ("0", 9), ("3", 30)),  # dealt in turn
        (("0", 2),),  # one node shows no order
    ],
)
def test_ranks_that_are_dealt_otherwise_tell_of_none(ranks: tuple[tuple[str, int], ...]) -> None:
    assert blocks(*ranks, kind="label", numbered=True, world=32, nodes=4) is None


def test_ranks_of_one_block_on_two_places_tell_of_none() -> None:
    assert blocks(("a", 0), ("b", 1), ("a", 2), ("b", 3), size=4) is None


def test_a_size_that_is_neither_told_nor_shown_is_not_guessed() -> None:
    assert blocks(("a", 2), ("a", 3), ("b", 4), ("b", 5), world=8) is None
    assert blocks(("a", 2), ("a", 3), ("b", 4), ("b", 5), size=2) is not None
