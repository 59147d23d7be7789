"""Verdicts on runs of real frameworks with one fault on one known rank, each case on its own.

The logs stand in tests/lab, in the format of tests/cases.
"""

from pathlib import Path

import pytest

from denpex.evaluation import Case, Score, read_cases, score
from diagnosis.engine import Compiled, LogFile, diagnose

FOLDER = Path(__file__).parents[2] / "lab"
CASES = {case.id: case for case in read_cases(FOLDER)}


@pytest.fixture(params=list(CASES.values()), ids=list(CASES))
def scored(request: pytest.FixtureRequest, compiled: Compiled) -> Score:
    case: Case = request.param
    verdict = diagnose([LogFile("log.txt", case.log)], compiled)
    return score(case, verdict, compiled.catalogue)


def test_the_fault_of_a_lab_run_is_told_with_its_rank(scored: Score) -> None:
    told = (scored.top1, scored.decided, scored.rank_right, scored.negative_right, scored.evidence)
    assert False not in told, (scored.outcome, scored.slug, scored.rank)
    assert [scored.wrong, scored.rank_invented, scored.collateral_first] == [False] * 3
