from __future__ import annotations

from typing import Any

import pytest

from diagnosis import presentation
from diagnosis.engine.mask_files import KINDS
from diagnosis.engine.verdict import CONFIDENCES, FATES, OUTCOMES, RANK_BASES


def fate(rank: int, fate: str = "torn_down", host: str | None = None) -> dict[str, Any]:
    nothing = dict.fromkeys(("local_rank", "file", "first_line", "last_line"))
    return {
        "rank": rank,
        "fate": fate,
        "host": host,
        "first_time": None,
        "last_time": None,
    } | nothing


def test_every_code_of_a_verdict_has_its_words() -> None:
    assert set(presentation.OUTCOMES) == set(OUTCOMES)
    assert set(presentation.CONFIDENCES) == set(CONFIDENCES)
    assert set(presentation.RANK_BASES) == set(RANK_BASES)
    assert set(presentation.FATES) == set(FATES)
    assert set(presentation.KINDS) == set(KINDS)


def test_words_of_fates_differ() -> None:
    assert len(set(presentation.FATES.values())) == len(FATES)


def rows(fates: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(row.ranks, row.fate, row.hosts) for row in presentation._fate_rows(fates)]


def test_rank_that_failed_first_comes_first() -> None:
    fates = [fate(0), fate(1), fate(2, "initiated", "node-1")]

    assert rows(fates) == [
        ("2", "initiated", "node-1"),
        ("0", "torn_down", ""),
        ("1", "torn_down", ""),
    ]


def test_many_ranks_are_merged_by_host() -> None:
    fates = [fate(n, host=f"node-{n // 16}") for n in range(32)]
    fates[5] = fate(5, "initiated", "node-0")

    assert rows(fates) == [
        ("5", "initiated", "node-0"),
        ("0\N{EN DASH}4, 6\N{EN DASH}15", "torn_down", "node-0"),
        ("16\N{EN DASH}31", "torn_down", "node-1"),
    ]


def test_a_thousand_hosts_are_counted() -> None:
    fates = [fate(n, host=f"node-{n}") for n in range(1000)]

    assert rows(fates) == [("0\N{EN DASH}999", "torn_down", "1000 hosts")]


def test_every_placeholder_of_a_command_is_named_once() -> None:
    fix = {
        "command": "torchrun --nproc-per-node '<gpus per node>' '<train.py>' 2>&1 | tee '<log>'",
        "verify": "sort <in >out; jq . '<shard-0.jsonl>' && grep x '<log>'",
    }

    names = presentation._placeholders(fix)

    assert names == ("<gpus per node>", "<train.py>", "<log>", "<shard-0.jsonl>")


def test_clocks_that_agree_are_not_spoken_of() -> None:
    assert presentation._skews({"node-1": 0.0, "node-2": -0.003}) == ""
    assert presentation._skews({"node-1": 0.0, "node-2": -3.2}) == "node-2 by -3.2 s"


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([], ""), ([3], "3"), ([0, 1, 2], "0\N{EN DASH}2"), ([7, 0, 5, 6], "0, 5\N{EN DASH}7")],
)
def test_numbers_in_words(numbers: list[int], words: str) -> None:
    assert presentation.numbers_in_words(numbers) == words
