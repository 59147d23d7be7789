import json
from pathlib import Path

import pytest

from denpex.evaluation import (
    Case,
    CasesError,
    evaluate,
    figures,
    groups,
    print_scores,
    read_cases,
    write_figures,
)
from tests.diagnosis.engine.logs import PEER_CLOSED, announced, of_rank, steps, traceback

TRUTH = {
    "family": "lab",
    "primary": "python-key-error",
    "accept": [],
    "collateral": ["gloo-peer-closed"],
    "initiating_rank": 1,
    "evidence": ["KeyError: 'mask'"],
    "fix_mentions": ["key"],
    "difficulty": "easy",
}
FAILED = "\n".join((announced(2), of_rank(1, "KeyError: 'mask'"), of_rank(0, PEER_CLOSED), ""))


def score_of(log: str, **truth):
    (score,) = evaluate([Case("case", log.encode(), {**TRUTH, **truth})])
    return score


def test_a_right_verdict_scores() -> None:
    score = score_of(FAILED)
    assert (score.top1, score.top3, score.decided, score.rank_right) == (True, True, True, True)
    assert (score.wrong, score.rank_invented, score.collateral_first) == (False, False, False)
    assert (score.evidence, score.negative_right) == (True, None)


def test_an_accepted_failure_is_right() -> None:
    assert score_of(FAILED, primary="missing-record-field", accept=["python-key-error"]).top1


def test_another_failure_is_wrong() -> None:
    score = score_of(FAILED, primary="disk-full-during-checkpoint-save")
    assert (score.top1, score.wrong, score.wrong_high) == (False, True, score.confidence == "high")


def test_saying_little_is_not_wrong_and_not_decided() -> None:
    score = score_of(traceback("OddError: unheard of"))
    assert (score.outcome, score.wrong, score.decided) == ("unrecognised", False, False)


def test_a_symptom_is_not_counted_among_the_decided() -> None:
    assert score_of(FAILED, primary="nccl-watchdog-timeout").decided is None


def test_the_wrong_rank_is_a_miss() -> None:
    assert score_of(FAILED, initiating_rank=0).rank_right is False


def test_a_rank_that_no_line_of_evidence_bears_is_invented() -> None:
    lost = [of_rank(rank, PEER_CLOSED) for rank in (0, 1, 3)]
    score = score_of("\n".join((announced(4), *lost)), initiating_rank=None)
    assert (score.rank, score.rank_invented) == (2, True)


def test_a_printed_rank_is_not_invented() -> None:
    assert score_of(FAILED, initiating_rank=None).rank_invented is False


def test_a_negative_must_be_no_failure() -> None:
    assert score_of(steps(1, 9), primary=None).negative_right is True
    assert score_of(FAILED, primary=None).negative_right is False


def test_figures_have_their_denominators() -> None:
    scores = [score_of(FAILED), score_of(steps(1, 9), primary=None, family="memory")]
    found = figures(scores)
    assert (found["cases"], found["top-1"], found["negatives"]) == (2, [1, 1], [1, 1])
    assert list(groups(scores)) == ["lab", "memory", "easy", "medium", "hard", "all"]


def test_misses_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    print_scores([score_of(FAILED, initiating_rank=0)])
    assert "case: rank; said established python-key-error rank 1" in capsys.readouterr().out
    print_scores([score_of(FAILED)], as_json=True)
    assert json.loads(capsys.readouterr().out)["figures"]["all"]["top-1"] == [1, 1]


def test_figures_are_written_as_a_table_or_as_json(tmp_path: Path) -> None:
    scores = [score_of(FAILED)]
    readme, stored = tmp_path / "README.md", tmp_path / "figures.json"
    readme.write_text("a\n<!-- figures: denpex eval tests/cases -->\nold\n<!-- /figures -->\nb\n")
    write_figures(scores, readme)
    write_figures(scores, stored)
    assert "| all | 1 | 1/1 |" in readme.read_text()
    assert "old" not in readme.read_text()
    assert json.loads(stored.read_text())["all"] == figures(scores)


def test_a_file_without_markers_is_left_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("nothing")
    with pytest.raises(CasesError, match="no line"):
        write_figures([score_of(FAILED)], readme)
    assert readme.read_text() == "nothing"


def test_a_folder_without_cases_is_said(tmp_path: Path) -> None:
    with pytest.raises(CasesError, match="no cases"):
        read_cases(tmp_path)


def test_a_damaged_case_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "truth.json").write_text("{")
    with pytest.raises(CasesError, match=r"odd/truth\.json"):
        read_cases(tmp_path)
