from __future__ import annotations

import pytest

from diagnosis.number_runs import numbers_in_words, ranks_in_words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([], ""), ([3], "3"), ([0, 1, 2], "0\N{EN DASH}2"), ([7, 0, 5, 6], "0, 5\N{EN DASH}7")],
)
def test_numbers_in_words(numbers: list[int], words: str) -> None:
    assert numbers_in_words(numbers) == words


def test_many_runs_are_counted() -> None:
    assert numbers_in_words(range(0, 1024, 2)) == "0, 2, 4, 6, 8, 10, 12 and 505 more"


def test_ranks_have_their_noun() -> None:
    assert [ranks_in_words(ranks) for ranks in ([], [4], [4, 5])] == [
        "",
        "rank 4",
        "ranks 4\N{EN DASH}5",
    ]
