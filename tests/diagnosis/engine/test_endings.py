from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import (
    PEER_CLOSED,
    announced,
    elastic_failed,
    elastic_summary,
    of_rank,
    traceback,
    verdict_on,
)

MESH_REFUSED = (
    "RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/tcp/"
    "pair.cc:145] no error. Connection refused"
)


def deepspeed_teardown(last_rank: int, returncode: int) -> str:
    """Return what DeepSpeed's launcher prints: the process it started last, not the first to go."""
    stamp = "[2026-11-30 06:20:27,022]"
    killed = "\n".join(
        f"{stamp} [INFO] [launch.py:316:sigkill_handler] Killing subprocess {9000 + rank}"
        for rank in range(last_rank + 1)
    )
    command = f"['/usr/bin/python3', '-u', 'train.py', '--local_rank={last_rank}']"
    return (
        f"{killed}\n{stamp} [ERROR] [launch.py:322:sigkill_handler] {command}"
        f" exits with return code = {returncode}"
    )


def on_pod(pod: str, *texts: str) -> str:
    return "\n".join(f"[pod/{pod}/main] {line}" for text in texts for line in text.splitlines())


def test_the_process_that_deepspeed_started_last_is_not_blamed(compiled: Compiled) -> None:
    complaints = [of_rank(rank, PEER_CLOSED) for rank in (0, 2, 3)]
    verdict = verdict_on(compiled, announced(4), *complaints, deepspeed_teardown(3, -9))
    assert verdict.primary.rank != 3


def test_a_traceback_without_a_rank_is_not_that_of_deepspeed_s_last_process(
    compiled: Compiled,
) -> None:
    error = traceback("KeyError: 'mask'")
    verdict = verdict_on(compiled, announced(4), error, deepspeed_teardown(3, 1))
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", None)


def test_of_two_agents_that_each_name_a_root_cause_the_cause_decides(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        announced(4),
        on_pod("a-0", of_rank(0, PEER_CLOSED)),
        on_pod("a-1", of_rank(3, "KeyError: 'mask'")),
        on_pod("a-0", elastic_failed(0, 9000), elastic_summary((1, 9001, -15), (0, 9000, 1))),
        on_pod("a-1", elastic_failed(1, 9003), elastic_summary((2, 9002, -15), (3, 9003, 1))),
    )
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 3)


def test_a_rank_killed_without_a_word_is_named_by_the_later_of_two_agents(
    compiled: Compiled,
) -> None:
    complaints = [of_rank(rank, PEER_CLOSED) for rank in (0, 1)]
    verdict = verdict_on(
        compiled,
        announced(4),
        on_pod("a-0", *complaints),
        on_pod("a-0", elastic_failed(0, 9000), elastic_summary((1, 9001, 1), (0, 9000, 1))),
        on_pod("a-1", elastic_failed(1, 9003, -9), elastic_summary((2, 9002, -15), (3, 9003, -9))),
    )
    assert verdict.primary.failure.slug == "process-killed-by-sigkill"
    assert verdict.primary.rank == 3


def test_a_restart_that_cannot_connect_is_not_the_cause(compiled: Compiled) -> None:
    stale = [of_rank(rank, MESH_REFUSED) for rank in (0, 1, 3)]
    verdict = verdict_on(
        compiled,
        announced(4),
        of_rank(2, "KeyError: 'mask'"),
        elastic_failed(2, 9002),
        *stale,
        elastic_failed(0, 9100),
        elastic_summary((1, 9101, 1), (0, 9100, 1)),
    )
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 2)
