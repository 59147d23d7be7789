from diagnosis.engine import Compiled
from diagnosis.engine.events import UNNAMED
from tests.diagnosis.engine.logs import (
    PEER_CLOSED,
    announced,
    of_rank,
    steps,
    traceback,
    verdict_on,
)

DUMP_SIGNAL = (
    "[rank1]:[E1130 05:53:43.390022614 ProcessGroupNCCL.cpp:1794] [PG ID 0 PG GUID 0(default_pg)"
    " Rank 1] Received a dump signal due to a collective timeout from  rank 2 and we will try our"
    " best to dump the debug info. Last enqueued NCCL work: 5209, last completed NCCL work: 5209."
)


def cut(text: str, lines: int) -> str:
    return "\n".join(text.splitlines()[:lines])


def test_a_log_that_ends_within_a_traceback_tells_of_a_failure(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, steps(1, 5), cut(traceback("ValueError: x"), 5))
    assert verdict.outcome == "unrecognised"
    assert verdict.primary.summary.startswith(UNNAMED)
    assert "/app/train.py:42" in verdict.primary.summary
    assert verdict.primary.confidence == "low"


def test_the_header_of_a_traceback_is_enough(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, steps(1, 5), "[rank1]: Traceback (most recent call last):")
    assert (verdict.outcome, verdict.primary.rank) == ("unrecognised", 1)


def test_words_about_tracebacks_are_none(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, steps(1, 5), "we grep for Traceback (most recent call last)")
    assert verdict.outcome == "no_failure"


def test_a_torn_traceback_gives_way_to_a_failure_that_has_a_name(compiled: Compiled) -> None:
    torn = cut(of_rank(0, "ValueError: x"), 4)
    verdict = verdict_on(compiled, announced(2), torn, of_rank(1, "KeyError: 'mask'"))
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 1)


def test_a_torn_traceback_goes_before_a_lost_peer(compiled: Compiled) -> None:
    torn = cut(of_rank(0, "ValueError: x"), 4)
    verdict = verdict_on(compiled, announced(2), of_rank(1, PEER_CLOSED), torn)
    assert (verdict.outcome, verdict.primary.rank) == ("unrecognised", 0)


def test_a_torn_traceback_that_the_run_survived_is_no_failure(compiled: Compiled) -> None:
    torn = cut(traceback("ValueError: x"), 4)
    assert verdict_on(compiled, torn, steps(1, 20)).outcome == "no_failure"


def test_a_rank_that_repeats_another_s_timeout_still_tells_of_it(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, steps(1, 5), DUMP_SIGNAL)
    assert verdict.outcome == "symptom_only"
    assert verdict.primary.failure.slug == "nccl-watchdog-timeout"
    assert verdict.primary.rank is None


def test_an_exception_that_only_reports_a_spawned_child_is_not_the_root(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        traceback(
            "Exception: ", file="/opt/lib/python3.7/site-packages/torch/multiprocessing/spawn.py"
        ).replace("torch/_tensor.py", "torch/multiprocessing/spawn.py"),
        "",
        "-- Process 4 terminated with the following error:",
        traceback("FloatingPointError: the loss is gone", file="/app/trainer.py"),
    )
    assert verdict.primary.summary.startswith("FloatingPointError")


def test_a_task_that_was_cancelled_is_not_the_root(compiled: Compiled) -> None:
    cancelled = traceback("asyncio.exceptions.CancelledError")
    verdict = verdict_on(compiled, cancelled, traceback("KeyError: 'mask'", line=77))
    assert verdict.primary.failure.slug == "python-key-error"


def test_a_bare_exception_without_a_kind_is_a_failure(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, steps(1, 9), "Exception: the loom is out of thread")
    assert verdict.outcome == "unrecognised"
    assert verdict.primary.summary.startswith("Exception: the loom is out of thread")
