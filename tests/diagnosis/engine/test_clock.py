from diagnosis.engine import Compiled, LogFile, Verdict, diagnose
from tests.diagnosis.engine.logs import traceback


def node(name: str, rank: int, *, ahead: int, steps: int = 6, error: str, at: int) -> LogFile:
    """Return the log of a node whose clock runs `ahead` seconds; `error` strikes at second `at`."""
    lines = [
        f"2026-11-30 06:{(second + ahead) // 60:02}:{(second + ahead) % 60:02},000 INFO train:"
        f" [rank {rank}] step {second}/1000 | loss 2.1"
        for second in range(1, steps + 1)
    ]
    second = at + ahead
    lines.append(f"2026-11-30 06:{second // 60:02}:{second % 60:02},000 ERROR train: [rank {rank}]")
    return LogFile(f"{name}/stderr.log", ("\n".join(lines) + "\n" + traceback(error)).encode())


def verdict_of(compiled: Compiled, *files: LogFile) -> Verdict:
    return diagnose(list(files), compiled)


def test_clocks_are_set_right_by_steps_that_ranks_share(compiled: Compiled) -> None:
    files = (
        node("node-0", 0, ahead=0, error="KeyError: 'late'", at=40),
        node("node-1", 1, ahead=90, error="KeyError: 'early'", at=20),
    )
    verdict = verdict_of(compiled, *files)
    assert verdict.coverage.clock_skew is not None
    assert set(verdict.coverage.clock_skew.values()) == {0.0, 90.0}
    assert verdict.primary.evidence[0].text == "KeyError: 'early'"


def test_the_order_of_the_files_makes_no_difference(compiled: Compiled) -> None:
    one = node("node-0", 0, ahead=0, error="KeyError: 'late'", at=40)
    other = node("node-1", 1, ahead=90, error="KeyError: 'early'", at=20)
    first, second = (verdict_of(compiled, *files).primary for files in ((one, other), (other, one)))
    assert (first.rank, first.evidence[0]) == (second.rank, second.evidence[0])


def test_moments_that_cannot_be_told_apart_are_said_to_be_tied(compiled: Compiled) -> None:
    files = (
        node("node-0", 0, ahead=0, steps=1, error="KeyError: 'a'", at=20),
        node("node-1", 1, ahead=0, steps=1, error="KeyError: 'a'", at=20),
        node("node-2", 2, ahead=0, steps=1, error="connection lost, says nobody", at=30),
    )
    primary = verdict_of(compiled, *files).primary
    assert primary.rank is None
    assert "do not tell which came first" in primary.why
