from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import elastic_summary, of_rank, verdict_on

PREFIX = "[pod/trainer-0/main] 2026-11-30T06:20:17.123456789Z "


def wrapped(text: str, width: int) -> str:
    lines = [PREFIX + line for line in text.splitlines()]
    return "\n".join(
        line[start : start + width] for line in lines for start in range(0, len(line), width)
    )


def test_a_field_that_a_terminal_cut_in_two_is_read_whole(compiled: Compiled) -> None:
    summary = wrapped(elastic_summary((3, 9003, 1)), 80)
    assert "(local_rank: 3)" not in summary
    verdict = verdict_on(compiled, of_rank(3, "KeyError: 'mask'"), summary)
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 3)
