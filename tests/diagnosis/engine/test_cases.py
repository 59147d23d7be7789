"""The floor below which no change may let the verdicts on the open cases fall."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from denpex.evaluation import Score, figures, score
from diagnosis.engine.verdict import SCHEMA_FILE
from tests.diagnosis.engine.metamorphic import Sample

SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def scores(samples: list[Sample]) -> list[Score]:
    return [score(each.case, each.verdict, each.compiled.catalogue) for each in samples]


@pytest.fixture(scope="session")
def lab(scores: list[Score]) -> list[Score]:
    """Scores of runs of real frameworks with one known fault."""
    return [each for each in scores if each.case.truth["family"] == "lab"]


def missed(scores: list[Score], figure: str) -> list[str]:
    return [each.case.id for each in scores if getattr(each, figure) is False]


def share(scores: list[Score], figure: str) -> float:
    right, counted = figures(scores)[figure]
    assert counted
    return right / counted


def test_the_root_cause_of_lab_runs_is_named(lab: list[Score]) -> None:
    assert share(lab, "top-1") >= 0.95, missed(lab, "top1")


def test_the_initiating_rank_of_lab_runs_is_named(lab: list[Score]) -> None:
    assert len(missed(lab, "rank_right")) <= 1, missed(lab, "rank_right")


@pytest.mark.parametrize(("difficulty", "least"), [("easy", 0.95), ("medium", 0.85), ("hard", 0.6)])
def test_verdicts_on_lab_runs_are_decided(lab: list[Score], difficulty: str, least: float) -> None:
    scores = [each for each in lab if each.case.truth["difficulty"] == difficulty]
    assert share(scores, "decided") >= least, missed(scores, "decided")


def test_no_rank_is_invented_on_lab_runs(lab: list[Score]) -> None:
    assert [each.case.id for each in lab if each.rank_invented] == []


def test_no_verdict_on_lab_runs_is_wrong_with_high_confidence(lab: list[Score]) -> None:
    assert [each.case.id for each in lab if each.wrong_high] == []


def test_runs_in_which_nothing_failed_are_no_failure(scores: list[Score]) -> None:
    assert share(scores, "negatives") == 1, missed(scores, "negative_right")


def test_every_verdict_is_valid_by_the_schema(samples: list[Sample]) -> None:
    for sample in samples:
        SCHEMA.validate(json.loads(sample.verdict.as_json()))


IN_A_PROCESS_OF_ITS_OWN = """
import json, sys
from pathlib import Path
from denpex.evaluation import read_cases
from diagnosis.engine import LogFile, diagnose, load_compiled
compiled = load_compiled()
for case in read_cases(Path(sys.argv[1])):
    print(json.dumps([case.id, diagnose([LogFile("log.txt", case.log)], compiled).as_json()]))
"""


def test_equal_cases_give_equal_bytes_in_two_processes(
    samples: list[Sample], cases_folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN, str(cases_folder)],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
    )
    again = dict(map(json.loads, done.stdout.splitlines()))
    assert [each.case.id for each in samples if each.verdict.as_json() != again[each.case.id]] == []
