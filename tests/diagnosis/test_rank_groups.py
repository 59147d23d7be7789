from __future__ import annotations

from typing import Any

import pytest

from diagnosis.rank_groups import MOST_GROUPS, Span, group_ranks, merge_silent
from tests.diagnosis.verdicts import fate


def groups(fates: list[dict[str, Any]]) -> list[tuple[tuple[int, ...], str, tuple[str, ...]]]:
    return [(group.ranks, group.fate, group.hosts) for group in group_ranks(fates)]


def test_rank_that_failed_first_comes_first() -> None:
    fates = [fate(0), fate(1), fate(2, "initiated", host="node-1")]

    assert groups(fates) == [
        ((2,), "initiated", ("node-1",)),
        ((0,), "torn_down", ()),
        ((1,), "torn_down", ()),
    ]


def test_ranks_that_the_log_does_not_show_come_last() -> None:
    fates = [fate(0, "not_in_this_log"), fate(1, "finished"), fate(2, "initiated")]

    assert [ranks for ranks, _fate, _hosts in groups(fates)] == [(2,), (1,), (0,)]


def test_ranks_taken_together_tell_their_least_and_greatest_collective() -> None:
    many = [fate(n, host="node-0", last_collective=40 + n % 3) for n in range(MOST_GROUPS + 1)]
    one = [fate(0, last_collective=7), fate(1)]

    assert [group.last_collective for group in group_ranks(many)] == ["40\N{EN DASH}42"]
    assert [group.last_collective for group in group_ranks(one)] == ["7", ""]


def test_silent_neighbours_of_equal_fate_are_merged() -> None:
    fates = [fate(n) for n in range(8)]
    fates[2] = fate(2, first_line=9)
    fates[6] = fate(6, "finished")

    merged = merge_silent(group_ranks(fates), frozenset((4,)))

    assert [group.ranks for group in merged] == [(0, 1), (2,), (3,), (4,), (5,), (6,), (7,)]


def test_many_ranks_are_merged_by_host_and_fate() -> None:
    fates = [fate(n, host=f"node-{n // 16}") for n in range(32)]
    fates[5] = fate(5, "initiated", host="node-0")

    assert groups(fates) == [
        ((5,), "initiated", ("node-0",)),
        ((0, 1, 2, 3, 4, *range(6, 16)), "torn_down", ("node-0",)),
        (tuple(range(16, 32)), "torn_down", ("node-1",)),
    ]


def test_many_hosts_are_merged_by_fate_whatever_their_order() -> None:
    fates = [
        fate(n, "torn_down" if n % 2 else "stalled_waiting", host=f"node-{n}") for n in range(1000)
    ]

    (waiting, torn_down) = groups(fates)

    assert waiting[:2] == (tuple(range(0, 1000, 2)), "stalled_waiting")
    assert torn_down[:2] == (tuple(range(1, 1000, 2)), "torn_down")
    assert len(torn_down[2]) == 500


@pytest.mark.parametrize("world", [0, 1, MOST_GROUPS, MOST_GROUPS + 1, 1024, 4096])
def test_groups_stay_few_and_hold_every_rank_once(world: int) -> None:
    fates = [fate(n, host=f"node-{n // 8}", first_line=n + 1) for n in range(world)]

    found = group_ranks(fates)

    assert len(found) <= MOST_GROUPS
    assert sorted(rank for group in found for rank in group.ranks) == list(range(world))


def test_merged_ranks_span_from_the_first_line_to_the_last() -> None:
    fates = [
        fate(
            n,
            first_line=n + 1,
            last_line=100 - n,
            first_time=f"06:00:{n:02}",
            last_time=f"07:00:{n:02}",
        )
        for n in range(30)
    ]

    (group,) = group_ranks(fates)

    assert group.spans == (Span("log.txt", 1, 100, "06:00:00", "07:00:00"),)
    assert (group.first_time, group.last_time) == ("06:00:00", "07:00:00")


def test_first_time_is_that_of_the_first_line_that_bears_one() -> None:
    (group,) = group_ranks([fate(0, first_line=1, last_line=9, last_time="07:00:00")])

    assert (group.first_time, group.last_time) == ("", "07:00:00")


def test_ranks_of_several_files_span_each_of_them_and_tell_no_time() -> None:
    fates = [
        fate(n, first_line=5, last_line=9, file=f"rank_{n}.log", first_time="06:00:00")
        for n in range(30)
    ]

    (group,) = group_ranks(fates)

    assert len(group.spans) == 30
    assert (group.first_time, group.last_time) == ("", "")


def test_of_a_thousand_files_those_at_the_ends_are_asked() -> None:
    fates = [
        fate(
            n,
            first_line=1,
            last_line=9,
            file=f"rank_{n}.log",
            first_time=f"2026-11-30 06:{(7 * n) % 1000 // 60:02}:{(7 * n) % 60:02}",
            last_time=f"2026-11-30 07:{(3 * n) % 1000 // 60:02}:{(3 * n) % 60:02}",
        )
        for n in range(1000)
    ]
    (group,) = group_ranks(fates)

    outer = group.outer_spans

    assert len(outer) <= 64
    assert min(span.first_time for span in group.spans) in {span.first_time for span in outer}
    assert max(span.last_time for span in group.spans) in {span.last_time for span in outer}


def test_of_a_few_files_all_are_asked() -> None:
    (group,) = group_ranks([fate(n, first_line=1, file=f"{n}.log") for n in range(30)])

    assert group.outer_spans == group.spans
