from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import announced, of_rank, verdict_on


def woven(*texts: str) -> str:
    lines = [text.splitlines() for text in texts]
    return "\n".join(line for group in zip(*lines, strict=True) for line in group)


def test_of_ranks_that_fail_alike_the_first_is_named(compiled: Compiled) -> None:
    parts = [of_rank(rank, "KeyError: 'mask'") for rank in (2, 1)]
    verdict = verdict_on(compiled, announced(4), *parts)
    assert verdict.primary.rank == 2


def test_of_ranks_that_fail_alike_line_between_line_none_is_named(compiled: Compiled) -> None:
    parts = [of_rank(rank, "KeyError: 'mask'") for rank in (2, 1)]
    verdict = verdict_on(compiled, announced(4), woven(*parts))
    assert (verdict.outcome, verdict.primary.rank) == ("established", None)
    assert "Ranks 1, 2 report it together" in verdict.primary.why


def test_another_failure_between_its_lines_does_not_hide_the_first(compiled: Compiled) -> None:
    parts = of_rank(2, "KeyError: 'mask'"), of_rank(1, "RuntimeError: recvValue failed")
    verdict = verdict_on(compiled, announced(4), woven(*parts))
    assert verdict.primary.rank == 2
