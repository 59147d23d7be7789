import pytest

from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import (
    announced,
    elastic_failed,
    elastic_summary,
    elastic_told,
    of_rank,
    traceback,
    verdict_on,
)


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


def test_a_cause_without_a_rank_is_that_of_the_rank_that_alone_ended_of_itself(
    compiled: Compiled,
) -> None:
    told = "\n".join(elastic_told(pid) for pid in (9000, 9001, 9003))
    verdict = verdict_on(
        compiled,
        traceback("KeyError: 'mask'"),
        told,
        elastic_failed(2, 9002),
        elastic_summary((2, 9002, 1)),
    )
    assert (verdict.primary.rank, verdict.primary.rank_basis) == (2, "derived")
    assert "rank 2 alone ended of itself" in verdict.primary.why


def test_a_cause_without_a_rank_is_nobody_s_where_several_ended_of_themselves(
    compiled: Compiled,
) -> None:
    verdict = verdict_on(
        compiled,
        traceback("KeyError: 'mask'"),
        elastic_failed(2, 9002),
        elastic_summary((3, 9003, 1), (2, 9002, 1)),
    )
    assert (verdict.outcome, verdict.primary.rank) == ("established", None)


def test_a_rank_that_did_not_report_the_cause_is_not_blamed_for_its_end(compiled: Compiled) -> None:
    reports = [of_rank(rank, "KeyError: 'mask'") for rank in (1, 2)]
    verdict = verdict_on(compiled, announced(4), woven(*reports), elastic_summary((3, 9003, 1)))
    assert verdict.primary.rank is None


def test_a_cause_that_raised_nothing_is_not_that_of_who_ended_of_what_followed(
    compiled: Compiled,
) -> None:
    warning = (
        "UserWarning: std(): degrees of freedom is <= 0. Correction should be strictly less than"
        " the reduction factor (input numel divided by output numel)."
    )
    verdict = verdict_on(
        compiled,
        f"/app/grpo_trainer.py:494: {warning}",
        "{'loss': 0.0, 'grad_norm': nan, 'reward': 0.75, 'reward_std': nan, 'kl': 0.0006}",
        traceback("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"),
        elastic_failed(1, 9001),
        elastic_summary((1, 9001, 1)),
    )
    assert verdict.primary.failure.slug == "grpo-single-generation-nan"
    assert verdict.primary.rank is None


def test_of_ranks_that_fail_together_the_one_that_ended_of_itself_is_named(
    compiled: Compiled,
) -> None:
    reports = [of_rank(rank, "KeyError: 'mask'") for rank in (1, 2)]
    verdict = verdict_on(compiled, announced(4), woven(*reports), elastic_summary((2, 9002, 1)))
    assert verdict.primary.rank == 2


@pytest.mark.parametrize(
    "report",
    [
        "  Process name: [[11907,1],2]\n  Exit code:    1",
        "   Process name: [prterun-node-a-40190@1,2] Exit code:    1",
    ],
    ids=["orterun", "prterun"],
)
def test_a_cause_without_a_rank_is_that_of_the_process_that_mpirun_names(
    compiled: Compiled, report: str
) -> None:
    verdict = verdict_on(compiled, traceback("KeyError: 'mask'"), f"{'-' * 74}\n{report}")
    assert verdict.primary.rank == 2


def test_where_all_ranks_fail_alike_the_launcher_s_choice_is_not_blamed(compiled: Compiled) -> None:
    reports = [of_rank(rank, "KeyError: 'mask'") for rank in range(4)]
    verdict = verdict_on(compiled, announced(4), *reports, elastic_summary((2, 9002, 1)))
    assert verdict.primary.rank is None
    assert "All 4 ranks report it" in verdict.primary.why


def test_ranks_with_a_gap_between_them_are_not_all(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, *(of_rank(rank, "KeyError: 'mask'") for rank in (5, 2, 0)))
    assert verdict.primary.rank == 5


def nccl_closed(rank: int | None, pid: int) -> str:
    """Return what NCCL prints when a peer is gone; torch's label says whose it is."""
    label = "" if rank is None else f"[rank{rank}]: "
    return (
        f"{label}gpu-c:{pid}:1149 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed"
        " by remote peer gpu-d<53735>"
    )


def test_a_rank_is_not_eliminated_where_somebody_unknown_complains(compiled: Compiled) -> None:
    known = [nccl_closed(rank, 900 + rank) for rank in (0, 1)]
    everyone = verdict_on(compiled, announced(3), *known)
    somebody = verdict_on(compiled, announced(3), *known, nccl_closed(None, 922))
    assert everyone.primary.rank == 2
    assert somebody.primary.rank is None


def test_a_rank_that_speaks_of_its_own_loss_has_not_vanished(compiled: Compiled) -> None:
    lost_store = (
        "[rank2]:[W1130 10:15:17.500000000 TCPStore.cpp:125] [c10d] recvValue failed on"
        " SocketImpl(fd=3, addr=[gpu-c]:1, remote=[gpu-d]:2): Connection reset by peer"
    )
    verdict = verdict_on(
        compiled, announced(3), nccl_closed(0, 900), nccl_closed(1, 901), lost_store
    )
    assert verdict.primary.rank != 2


def test_a_fault_of_a_device_is_that_of_the_rank_that_alone_speaks_of_a_gpu(
    compiled: Compiled,
) -> None:
    xid = (
        "[Mon Nov 30 06:00:01 2026] NVRM: Xid (PCI:0000:1b:00): 94, pid=4410, name=python,"
        " Contained: SM (0x1). RST: No, D-RST: No"
    )
    error = "[rank6]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
    verdict = verdict_on(compiled, xid, error)
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("xid-94-contained-ecc", 6)


def test_a_rank_that_was_derived_is_proved_by_the_line_that_tells_it(compiled: Compiled) -> None:
    raised = traceback("KeyError: 'mask'", prefix="(RayTrainWorker pid=9002) ")
    verdict = verdict_on(compiled, announced(4), raised)
    assert (verdict.primary.rank, verdict.primary.rank_basis) == (2, "derived")
    proof = verdict.primary.evidence[-1]
    assert (proof.rank, proof.role) == (2, "summary")
    assert "[rank 2] world size 4, pid 9002" in proof.text


def test_a_line_that_proves_the_rank_is_shown_once(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, announced(4), elastic_failed(2, 9002, -9))
    assert (verdict.primary.rank, verdict.primary.rank_basis) == (2, "derived")
    lines = [each.line for each in verdict.primary.evidence]
    assert len(lines) == len(set(lines))


def test_a_rank_that_the_root_prints_needs_no_other_line(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, announced(4), of_rank(2, "KeyError: 'mask'"))
    assert [each.role for each in verdict.primary.evidence] == ["cause"]


SAVES = "2026-11-30 05:43:41,120 - INFO - [Torch] Saving /out/step-5000/optim_states.pt..."
TIMED_OUT = (
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42, OpType=ALLREDUCE,"
    " NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out."
)


def waiting(*ranks: int) -> list[str]:
    """Return what the watchdogs of ranks print 600 s after SAVES."""
    stamp = "[E1130 05:53:43.475000 ProcessGroupNCCL.cpp:616]"
    return [f"[rank{rank}]:{stamp} [Rank {rank}] {TIMED_OUT}" for rank in ranks]


def test_who_saves_unmarked_is_the_one_that_all_others_wait_for(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, SAVES, *waiting(1, 2, 3), elastic_failed(2, 9002, -6))
    assert verdict.primary.failure.slug == "checkpoint-save-exceeds-collective-timeout"
    assert (verdict.primary.rank, verdict.primary.rank_basis) == (0, "eliminated")


def test_who_waited_for_a_peer_did_not_start_it_because_it_aborted_first(
    compiled: Compiled,
) -> None:
    verdict = verdict_on(compiled, SAVES, *waiting(0, 1, 2, 3), elastic_failed(2, 9002, -6))
    assert verdict.primary.rank is None


def test_a_service_that_speaks_is_no_silent_rank(compiled: Compiled) -> None:
    killed = (
        "(raylet) [2026-11-30 05:43:40,118 E 7001 7001] (raylet) node_manager.cc:3064: 1 Workers"
        " (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other"
        " reasons at node (ID: 2ad8, IP: 10.21.4.30) over the last time period."
    )
    verdict = verdict_on(compiled, killed, *waiting(1, 2))
    assert verdict.primary.failure.slug == "ray-memory-monitor-kill"
    assert verdict.primary.rank is None


@pytest.mark.parametrize(
    "agent",
    [
        "E1130 06:20:27.191000 23823 torch/distributed/elastic/multiprocessing/api.py:1002] ",
        "ERROR:torch.distributed.elastic.multiprocessing.api:",
        "[2026-11-30 06:20:27,110] torch.distributed.elastic.multiprocessing.api: [ERROR] ",
    ],
)
def test_a_task_in_which_an_agent_ran_is_no_rank_that_ended(compiled: Compiled, agent: str) -> None:
    said = f"{agent}failed (exitcode: 1) local_rank: 1 (pid: 9001) of binary: /usr/bin/python3"
    parts = (
        "Training with 2 processes, world size 2",
        "Process 0, total 2.",
        "Process 1, total 2.",
        traceback("KeyError: 'mask'"),
        said,
        elastic_summary((1, 9001, 1)),
        "srun: error: node-a: task 0: Exited with exit code 1",
    )
    assert verdict_on(compiled, *parts).primary.rank == 1
