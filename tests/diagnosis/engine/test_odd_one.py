from collections.abc import Sequence

from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import announced, of_rank, verdict_on

SLUG = "collective-order-desync"


def differs(rank: int, other: int, *, own: str = "ALLGATHER", theirs: str = "REDUCE") -> str:
    return (
        "RuntimeError: Detected mismatch between collectives on ranks."
        f" Rank {rank} is running collective: CollectiveFingerPrint(SequenceNumber=9OpType={own}),"
        f" but Rank {other} is running collective:"
        f" CollectiveFingerPrint(SequenceNumber=9OpType={theirs})."
        f"Collectives differ in the following aspects: \t Op type: {own}vs {theirs}"
    )


def told(compiled: Compiled, ranks: int, *parts: str) -> tuple[str | None, int | None, str | None]:
    primary = verdict_on(compiled, announced(ranks), *parts).primary
    slug = primary.failure.slug if primary.failure else None
    return slug, primary.rank, primary.rank_basis


def accusing(accused: Sequence[tuple[int, int]], *, numbered_from: int = 0) -> list[str]:
    return [of_rank(rank + numbered_from, differs(rank, other)) for rank, other in accused]


def test_the_rank_that_all_others_name_is_the_odd_one(compiled: Compiled) -> None:
    parts = accusing([(1, 3), (0, 3), (2, 3)])
    assert told(compiled, 4, *parts) == (SLUG, 3, "derived")


def test_the_odd_one_names_the_first_of_the_others_in_vain(compiled: Compiled) -> None:
    odd = of_rank(3, differs(3, 0, own="REDUCE", theirs="ALLGATHER"))
    assert told(compiled, 4, odd, *accusing([(1, 3), (0, 3), (2, 3)])) == (SLUG, 3, "derived")


def test_of_two_ranks_that_differ_neither_is_the_odd_one(compiled: Compiled) -> None:
    assert told(compiled, 2, *accusing([(0, 1), (1, 0)]))[:2] == (SLUG, None)


def test_of_two_parties_of_ranks_none_is_the_odd_one(compiled: Compiled) -> None:
    assert told(compiled, 4, *accusing([(0, 2), (1, 2), (2, 0), (3, 0)]))[:2] == (SLUG, None)


def test_numbers_within_a_group_are_no_ranks(compiled: Compiled) -> None:
    parts = accusing([(0, 3), (1, 3), (2, 3)], numbered_from=4)
    assert told(compiled, 8, *parts)[1] != 3
