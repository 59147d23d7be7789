from collections.abc import Sequence

import pytest

from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import (
    PEER_CLOSED,
    announced,
    elastic_failed,
    elastic_summary,
    elastic_told,
    of_rank,
    traceback,
    verdict_on,
    watchdog,
)

GLOO_TIMEOUT = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out"
    " waiting 20000ms for recv operation to complete"
)

DUMPS_FOR_ANOTHER = (
    "[rank1]:[E1130 05:53:43.475 ProcessGroupNCCL.cpp:1683] [PG ID 0 PG GUID 0(default_pg) Rank 1]"
    " Received a dump signal due to a collective timeout from  rank 0 and we will try our best to"
    " dump the debug info. Last enqueued NCCL work: 41, last completed NCCL work: 41."
)


def told(compiled: Compiled, *parts: str) -> tuple[str | None, int | None, str | None]:
    primary = verdict_on(compiled, *parts).primary
    assert primary is not None
    slug = None if primary.failure is None else primary.failure.slug
    return slug, primary.rank, primary.rank_basis


def test_a_rank_that_left_early_is_told_by_its_last_line(compiled: Compiled) -> None:
    parts = (
        announced(4),
        "2026-11-30 06:02:14,119 INFO train: [rank 3] shard exhausted after 65 steps, leaving",
        *(of_rank(rank, PEER_CLOSED) for rank in (0, 1, 2)),
    )
    assert told(compiled, *parts)[:2] == ("uneven-inputs-collective-hang", 3)


def test_a_rank_one_collective_behind_ran_less(compiled: Compiled) -> None:
    parts = [
        announced(4),
        *(watchdog(rank, seq=42, enqueued=42) for rank in (0, 2, 3)),
        DUMPS_FOR_ANOTHER,
    ]
    assert told(compiled, *parts)[:2] == ("uneven-inputs-collective-hang", 1)


def test_who_is_behind_is_told_with_care_since_no_line_says_why(compiled: Compiled) -> None:
    waiting = [watchdog(rank, seq=42, enqueued=42) for rank in (0, 2, 3)]
    verdict = verdict_on(compiled, announced(4), *waiting, DUMPS_FOR_ANOTHER)
    assert (verdict.outcome, verdict.primary.confidence) == ("probable", "medium")


@pytest.mark.parametrize(
    "last_words", ["Running validation on the main process", "Validation:  38%|### | 23/60 [09:52]"]
)
def test_who_is_behind_at_work_between_steps_has_not_run_out(
    compiled: Compiled, last_words: str
) -> None:
    waiting = [watchdog(rank, seq=42, enqueued=42) for rank in (0, 2, 3)]
    parts = (announced(4), last_words, *waiting, DUMPS_FOR_ANOTHER)
    assert told(compiled, *parts)[:2] == ("stalled-rank-collective-timeout", 1)


def test_numbers_of_two_groups_are_not_compared(compiled: Compiled) -> None:
    other = watchdog(1, seq=17, enqueued=17).replace("GUID 0(default_pg)", "GUID 119")
    waiting = [watchdog(rank, seq=42, enqueued=42) for rank in (0, 2, 3)]
    assert told(compiled, announced(4), *waiting, other)[:2] == ("nccl-watchdog-timeout", None)


def test_a_line_that_a_signature_knows_is_no_farewell(compiled: Compiled) -> None:
    """Behind words of its own each line's rank is unread, and "last completed" ends the log."""
    words = ["amber", "birch", "cedar", "daisy", "elm", "fern", "ginger", "hazel"]
    waiting = [watchdog(rank, seq=42, enqueued=42) for rank in range(4)]
    lines = zip(words, "\n".join(waiting).splitlines(), strict=True)
    parts = [f"{word} {line}" for word, line in lines]
    assert told(compiled, announced(4), *parts)[0] == "nccl-watchdog-timeout"


def test_ranks_that_wait_alike_tell_of_no_laggard(compiled: Compiled) -> None:
    parts = (announced(2), *(watchdog(rank, seq=42, enqueued=42) for rank in (0, 1)))
    assert told(compiled, *parts)[:2] == ("nccl-watchdog-timeout", None)


def test_different_operations_under_one_number_have_lost_their_order(compiled: Compiled) -> None:
    parts = (
        announced(2),
        watchdog(0, seq=42, op="ALLREDUCE", enqueued=42),
        watchdog(1, seq=42, op="BROADCAST", enqueued=42),
    )
    assert told(compiled, *parts)[0] == "collective-order-desync"


def test_different_sizes_in_one_operation_differ_in_shape(compiled: Compiled) -> None:
    parts = (
        announced(2),
        watchdog(0, seq=42, numel=1435, enqueued=42),
        watchdog(1, seq=42, numel=1436, enqueued=42),
    )
    assert told(compiled, *parts)[0] == "collective-shape-mismatch"


def test_the_one_rank_whose_size_differs_from_all_others_is_named(compiled: Compiled) -> None:
    sizes = [1435, 1435, 1, 1435]
    waiting = [watchdog(rank, seq=42, numel=size, enqueued=42) for rank, size in enumerate(sizes)]
    assert told(compiled, announced(4), *waiting)[:2] == ("collective-shape-mismatch", 2)


def test_of_two_parties_of_ranks_none_is_named(compiled: Compiled) -> None:
    sizes = [1435, 1435, 1, 1]
    waiting = [watchdog(rank, seq=42, numel=size, enqueued=42) for rank, size in enumerate(sizes)]
    assert told(compiled, announced(4), *waiting)[:2] == ("collective-shape-mismatch", None)


def test_an_exchange_of_uneven_parts_is_healthy(compiled: Compiled) -> None:
    parts = (
        announced(2),
        watchdog(0, seq=42, op="ALLTOALL_BASE", numel=10, enqueued=42),
        watchdog(1, seq=42, op="ALLTOALL_BASE", numel=20, enqueued=42),
    )
    assert told(compiled, *parts)[0] == "nccl-watchdog-timeout"


def test_the_one_rank_that_does_not_time_out_is_stalled(compiled: Compiled) -> None:
    parts = (announced(4), *(of_rank(rank, GLOO_TIMEOUT) for rank in (0, 2, 3)))
    assert told(compiled, *parts) == ("stalled-rank-collective-timeout", 1, "eliminated")


def test_all_ranks_of_several_nodes_timing_out_tells_of_the_network(compiled: Compiled) -> None:
    lines = [
        f"2026-11-30 06:20:17,050 INFO train: [rank {rank}] world size 4, pid {9000 + rank},"
        f" host node-{rank}"
        for rank in range(4)
    ]
    parts = (*lines, *(of_rank(rank, GLOO_TIMEOUT) for rank in range(4)))
    assert told(compiled, *parts)[:2] == ("inter-node-network-lost", None)


@pytest.mark.parametrize("present", [(0, 1), (0, 1, 3)])
def test_a_lost_peer_that_printed_nothing_has_vanished(
    compiled: Compiled, present: Sequence[int]
) -> None:
    lines = [line for line in announced(4).splitlines() if f"[rank {present[-1]}]" in line][:1]
    parts = (*lines, *(of_rank(rank, PEER_CLOSED) for rank in present))
    slug, rank, _basis = told(compiled, *parts)
    assert slug == "rank-vanished-without-error"
    assert rank == (2 if len(present) == 3 else None)


def test_a_cause_that_a_rank_states_needs_no_comparison(compiled: Compiled) -> None:
    parts = (
        announced(4),
        "2026-11-30 06:02:14,119 INFO train: [rank 3] shard exhausted after 65 steps, leaving",
        of_rank(0, PEER_CLOSED),
        of_rank(1, "KeyError: 'mask'"),
    )
    assert told(compiled, *parts)[:2] == ("python-key-error", 1)


def test_a_killed_rank_is_told_by_its_launcher_not_by_its_silence(compiled: Compiled) -> None:
    parts = (
        announced(3),
        of_rank(0, PEER_CLOSED),
        of_rank(2, PEER_CLOSED),
        elastic_summary((0, 9000, -15), (2, 9002, -15), (1, 9001, -9)),
    )
    assert told(compiled, *parts)[:2] == ("process-killed-by-sigkill", 1)


@pytest.mark.parametrize("last", ["OpType=ALL", "last enqueued NCCL work: 4"])
def test_a_value_that_is_cut_off_is_not_compared(compiled: Compiled, last: str) -> None:
    whole = [watchdog(rank, seq=42, enqueued=42) for rank in (0, 1)]
    lines = watchdog(2, seq=42, enqueued=42).splitlines()
    cut = [line.partition(last)[0] + last if last in line else line for line in lines]
    assert told(compiled, announced(3), *whole, *cut)[0] == "nccl-watchdog-timeout"


def logged(clock: str, message: str) -> str:
    return f"2026-11-30 {clock} INFO train: {message}"


SAVING = "Saving checkpoint at step 400 to /ckpt/step-400"


def test_a_wait_that_began_with_a_save_is_put_down_to_it_with_care(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        logged("05:42:10,000", "step 400/1000 | loss 2.31"),
        logged("05:43:41,120", SAVING),
        *(watchdog(rank, seq=42, enqueued=42) for rank in (1, 2)),
    )
    assert verdict.primary.failure.slug == "checkpoint-save-exceeds-collective-timeout"
    assert (verdict.outcome, verdict.primary.confidence) == ("probable", "medium")
    assert verdict.primary.evidence[0].text.endswith(SAVING)


@pytest.mark.parametrize(
    "lines",
    [
        (logged("05:31:02,000", SAVING),),
        (logged("05:43:30,000", SAVING), logged("05:43:44,000", "step 401/1000 | loss 2.30")),
        (logged("05:43:44,000", "Saved checkpoint of step 400"),),
        (SAVING,),
    ],
    ids=["long before", "work went on", "it was done", "nobody says when"],
)
def test_a_save_that_did_not_begin_the_wait_is_not_blamed(
    compiled: Compiled, lines: Sequence[str]
) -> None:
    verdict = verdict_on(
        compiled, *lines, *(watchdog(rank, seq=42, enqueued=42) for rank in (1, 2))
    )
    assert verdict.outcome == "symptom_only"


def timed_out_on_all_but(rank: int, last_words: str) -> tuple[str, ...]:
    """Return a log of four ranks in which all but one wait for it, after what it said last."""
    others = [other for other in range(4) if other != rank]
    said = f"2026-11-30 06:05:10,000 INFO train: [rank {rank}] {last_words}"
    return announced(4), said, *(of_rank(other, GLOO_TIMEOUT) for other in others)


@pytest.mark.parametrize(
    ("last_words", "slug"),
    [
        ("saving checkpoint to out/step-10.pt", "checkpoint-save-exceeds-collective-timeout"),
        ("saved checkpoint to out/step-10.pt", "stalled-rank-collective-timeout"),
        ("saving checkpoint to out/step-10.pt took 3.1 s", "stalled-rank-collective-timeout"),
        ("tokenizing 1,204,331 documents", "rank0-preprocessing-exceeds-timeout"),
        ("tokenizing 1,204,331 documents: done", "stalled-rank-collective-timeout"),
        ("step 40/200 | loss 4.1", "stalled-rank-collective-timeout"),
    ],
)
def test_what_the_awaited_rank_began_last_is_what_it_still_does(
    compiled: Compiled, last_words: str, slug: str
) -> None:
    assert told(compiled, *timed_out_on_all_but(0, last_words))[:2] == (slug, 0)


def test_a_rank_that_stopped_early_has_left_the_others(compiled: Compiled) -> None:
    parts = (
        announced(4),
        "2026-11-30 06:02:14,119 INFO train: [rank 1] early stopping: no better for 5 evaluations",
        *(of_rank(rank, PEER_CLOSED) for rank in (0, 2, 3)),
    )
    assert told(compiled, *parts)[:2] == ("uneven-inputs-collective-hang", 1)


def test_who_left_before_the_agent_ended_the_others_is_missed_where_no_exception_has_a_rank(
    compiled: Compiled,
) -> None:
    parts = (
        announced(3),
        traceback(PEER_CLOSED),
        traceback(PEER_CLOSED),
        elastic_told(9000),
        elastic_failed(2, 9002),
    )
    assert told(compiled, *parts) == ("rank-vanished-without-error", 1, "eliminated")


def test_nobody_is_missed_where_the_agent_accounts_for_all(compiled: Compiled) -> None:
    parts = (
        announced(3),
        traceback(PEER_CLOSED),
        traceback(PEER_CLOSED),
        elastic_told(9000),
        elastic_told(9001),
        elastic_failed(2, 9002),
    )
    assert told(compiled, *parts)[:2] == ("gloo-peer-closed", None)
