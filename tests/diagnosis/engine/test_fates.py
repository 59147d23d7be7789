"""Where each rank speaks first and last, however large the log is."""

from __future__ import annotations

import pytest

from diagnosis.engine import Compiled, LogFile, diagnose
from tests.diagnosis.engine.logs import announced, elastic_failed, of_rank, steps

LINES = 12_000


def lines_of(rank: int, count: int) -> str:
    return "".join(f"[rank{rank}]: loss 2.31 at {number}, lr 0.0003\n" for number in range(count))


def spoken(compiled: Compiled, log: str) -> dict[int, tuple[int | None, int | None, str]]:
    verdict = diagnose([LogFile("run.log", log.encode())], compiled)
    return {each.rank: (each.first_line, each.last_line, each.fate) for each in verdict.ranks}


def test_rank_that_speaks_only_in_the_middle_of_a_large_log_is_in_it(compiled: Compiled) -> None:
    start = "[rank0]: world size 3\n" + lines_of(0, LINES) + lines_of(2, LINES)
    log = (
        start
        + lines_of(1, 1)
        + lines_of(0, LINES)
        + lines_of(2, LINES)
        + of_rank(0, "KeyError: 'x'")
    )
    fates = spoken(compiled, log)
    middle = start.count("\n") + 1
    assert fates[1] == (middle, middle, "torn_down")


def test_ranks_are_found_from_their_first_line_to_their_last(compiled: Compiled) -> None:
    log = lines_of(1, 1) + lines_of(0, 2 * LINES) + lines_of(1, 1) + lines_of(0, 2 * LINES)
    log += of_rank(0, "KeyError: 'x'")
    fates = spoken(compiled, log)
    assert fates[1][:2] == (1, 2 * LINES + 2)
    assert fates[0][:2] == (2, log.count("\n") + 1)


def test_ranks_of_a_run_that_a_person_stopped_did_not_finish(compiled: Compiled) -> None:
    stopped = "\n".join((announced(2), of_rank(0, "KeyboardInterrupt")))
    assert [fate for *_lines, fate in spoken(compiled, stopped).values()] == ["torn_down"] * 2

    by_signal = "\n".join((stopped, elastic_failed(0, 9000, -2), elastic_failed(1, 9001, -2)))
    assert [fate for *_lines, fate in spoken(compiled, by_signal).values()] == ["torn_down"] * 2


def test_ranks_of_a_run_without_a_failure_finished(compiled: Compiled) -> None:
    whole = "\n".join((announced(2), steps(1, 9, rank=0), steps(1, 9, rank=1)))
    assert [fate for *_lines, fate in spoken(compiled, whole).values()] == ["finished"] * 2


def watchdog(rank: int) -> str:
    return (
        f"[rank{rank}]:[E1130 07:28:00.{rank:06} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog"
        " caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1,"
        " NumelOut=1, Timeout(ms)=1800000) ran for 1800084 milliseconds before timing out."
    )


def test_who_waited_in_vain_is_not_called_stopped(compiled: Compiled) -> None:
    """Also where the root is no more than a symptom, which explains no other."""
    full = of_rank(2, "OSError: [Errno 28] No space left on device")
    fates = spoken(compiled, "\n".join((full, *map(watchdog, (0, 1, 3)), "")))
    assert [fate for _first, _last, fate in fates.values()] == [
        "stalled_waiting",
        "stalled_waiting",
        "initiated",
        "stalled_waiting",
    ]


ABSENT = (None, None, "not_in_this_log")


@pytest.mark.parametrize("announcement", ["", "world size 6\n"], ids=["no world size", "one"])
def test_ranks_below_the_highest_that_say_nothing_are_told(
    compiled: Compiled, announcement: str
) -> None:
    log = announcement + "\n".join((steps(1, 9, rank=1), steps(1, 9, rank=5), ""))
    log += of_rank(3, "KeyError: 'x'")
    fates = spoken(compiled, log)
    assert list(fates) == list(range(6))
    assert [rank for rank, told in fates.items() if told == ABSENT] == [0, 2, 4]


def test_no_world_size_is_claimed_of_ranks_that_are_missing(compiled: Compiled) -> None:
    log = "\n".join((steps(1, 9, rank=0), of_rank(1022, "KeyError: 'x'"), steps(1, 9, rank=1023)))
    verdict = diagnose([LogFile("run.log", log.encode())], compiled)
    assert (verdict.coverage.ranks_seen, verdict.coverage.world_size) == (3, None)
    assert sum(each.fate == "not_in_this_log" for each in verdict.ranks) == 1021
    assert verdict.primary.rank == 1022


def test_setting_that_is_called_rank_makes_no_ranks(compiled: Compiled) -> None:
    log = "\n".join(
        (steps(1, 9, rank=0), "adapter: rank=64 alpha=128", of_rank(1, "KeyError: 'x'"))
    )
    assert ABSENT not in spoken(compiled, log).values()


def test_ranks_that_fail_alike_are_all_of_them_first(compiled: Compiled) -> None:
    log = "world size 4\n" + "\n".join(of_rank(rank, "KeyError: 'x'") for rank in range(4))
    assert {fate for _first, _last, fate in spoken(compiled, log).values()} == {"initiated"}
