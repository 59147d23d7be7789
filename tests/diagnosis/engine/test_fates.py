"""Where each rank speaks first and last, however large the log is."""

from __future__ import annotations

from diagnosis.engine import Compiled, LogFile, diagnose
from tests.diagnosis.engine.logs import of_rank

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
