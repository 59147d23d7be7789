"""What may be behind a symptom: in the terms of the log, and the most plausible first."""

from __future__ import annotations

from diagnosis.engine import Compiled, LogFile, diagnose
from diagnosis.engine.hypotheses import UNDECIDED
from diagnosis.engine.verdict import Hypothesis, Verdict
from tests.diagnosis.conftest import case_log
from tests.diagnosis.engine.logs import (
    announced,
    elastic_failed,
    elastic_told,
    of_rank,
    traceback,
    verdict_on,
)


def timed_out(rank: int, number: int = 5210, operation: str = "ALLREDUCE") -> str:
    return (
        f"[rank{rank}]:[E1130 05:53:43.475308117 ProcessGroupNCCL.cpp:688] [Rank {rank}] Watchdog"
        f" caught collective operation timeout: WorkNCCL(SeqNum={number}, OpType={operation},"
        " NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600027 milliseconds before timing out."
    )


def by_slug(verdict: Verdict) -> dict[str, Hypothesis]:
    assert verdict.outcome == "symptom_only"
    return {each.failure: each for each in verdict.hypotheses}


def test_ranks_that_the_log_does_not_show_are_named(compiled: Compiled) -> None:
    found = by_slug(verdict_on(compiled, timed_out(1), timed_out(3)))
    held = found["uneven-inputs-collective-hang"]
    assert held.for_ == "Ranks 0, 2: no word, while the others wait."
    assert held.against == "No line says what held ranks 0, 2 up."


def test_who_waited_until_the_time_was_up_waited_for_one_that_lives(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, timed_out(1), timed_out(3))
    assert verdict.hypotheses[0].failure == "uneven-inputs-collective-hang"


def test_where_every_rank_reports_it_none_is_said_to_have_been_held_up(compiled: Compiled) -> None:
    found = by_slug(verdict_on(compiled, announced(2), timed_out(0), timed_out(1)))
    assert "uneven-inputs-collective-hang" not in found
    assert {each.for_[:23] for each in found.values()} == {"All 2 ranks report it, "}


def test_ranks_that_speak_without_a_gap_are_all_that_there_were(compiled: Compiled) -> None:
    found = by_slug(verdict_on(compiled, timed_out(0), timed_out(1), timed_out(2)))
    assert found
    assert {each.for_[:23] for each in found.values()} == {"All 3 ranks report it, "}


def test_what_nothing_speaks_for_is_left_out_beside_what_something_does(
    compiled: Compiled,
) -> None:
    verdict = diagnose([LogFile("log.txt", case_log("lab-sigkill-mpirun32"))], compiled)
    found = by_slug(verdict)
    assert verdict.hypotheses[0].failure == "host-oom-killer"
    assert "stalled-rank-collective-timeout" not in found
    assert all(each.for_.startswith("No error in the words of rank 20") for each in found.values())


def test_what_nothing_speaks_for_stays_where_there_is_nothing_else(compiled: Compiled) -> None:
    found = by_slug(diagnose([LogFile("log.txt", case_log("lab-sigsegv-mpirun8"))], compiled))
    assert len(found) == 3
    assert {each.for_ for each in found.values()} == {"Known to end in this symptom."}


def test_a_system_of_which_the_log_holds_no_trace_is_not_suspected_first(
    compiled: Compiled,
) -> None:
    alone = verdict_on(compiled, announced(2), elastic_failed(1, 9001, -9))
    in_pods = verdict_on(
        compiled,
        *(
            f"[pod/trainer-0/main] {line}"
            for line in (*announced(2).splitlines(), elastic_failed(1, 9001, -9))
        ),
    )
    assert "container-memory-limit-oomkilled" not in by_slug(alone)
    assert "container-memory-limit-oomkilled" in by_slug(in_pods)


def test_a_killed_rank_speaks_for_what_ends_processes_from_outside(compiled: Compiled) -> None:
    found = by_slug(verdict_on(compiled, announced(2), elastic_failed(1, 9001, -9)))
    killer = found["host-oom-killer"]
    assert killer.for_.startswith("No error in the words of rank 1")
    assert "Linux" in killer.against


def test_a_rank_that_spoke_is_not_called_silent(compiled: Compiled) -> None:
    crashed = "RuntimeError: DataLoader worker (pid(s) 4411) exited unexpectedly"
    verdict = verdict_on(compiled, announced(2), of_rank(1, crashed))
    assert verdict.primary.rank == 1
    assert verdict.hypotheses
    assert not any("rank 1" in f"{each.for_} {each.against}" for each in verdict.hypotheses)


def test_who_was_alive_when_the_launcher_stopped_it_was_not_ended_from_outside(
    compiled: Compiled,
) -> None:
    stopped = (*map(timed_out, (1, 3)), elastic_told(9000), elastic_told(9002), elastic_told(9003))
    found = verdict_on(compiled, *stopped, elastic_failed(1, 9001, -6)).hypotheses
    assert not any("nor how it ended" in each.for_ for each in found)
    assert "host-oom-killer" not in [each.failure for each in found]


def test_no_rank_is_missed_where_none_was_started(compiled: Compiled) -> None:
    closed = "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"
    verdict = verdict_on(compiled, "torchrun --nnodes=4 --nproc_per_node=1", traceback(closed))
    assert verdict.outcome == "symptom_only"
    assert not any("not in this log" in each.for_ for each in verdict.hypotheses)


def test_nobody_waits_for_a_rank_that_was_killed(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, announced(2), elastic_failed(1, 9001, -9))
    assert not any("the others wait" in each.for_ for each in verdict.hypotheses)


def test_there_are_none_where_the_cause_is_in_the_log(compiled: Compiled) -> None:
    assert verdict_on(compiled, of_rank(1, "KeyError: 'mask'")).hypotheses == ()


def test_a_word_that_only_ends_as_a_system_s_name_is_no_trace_of_it(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        "values = np.array.tolist(); Namespace(lr=0.1, namespace=None)",
        announced(2),
        elastic_failed(1, 9001, -9),
    )
    systems = ("ray-memory-monitor-kill", "container-memory-limit-oomkilled")
    assert not by_slug(verdict).keys() & set(systems)


def test_who_prints_the_line_of_a_symptom_too_comes_first(compiled: Compiled) -> None:
    line = (
        "[rank0]: jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library"
        " initialization failed. Look at the errors above for more details."
    )
    verdict = verdict_on(compiled, line)
    assert verdict.primary is not None
    assert verdict.primary.failure is not None
    pages = {verdict.primary.failure.slug, verdict.hypotheses[0].failure}
    assert pages == {"cuda-library-mixed-versions", "cudnn-alloc-failed-oom"}
    assert verdict.hypotheses[0].for_ == "Line 1 is what it prints, too."
    assert verdict.hypotheses[0].against == UNDECIDED
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in verdict.hypotheses[0].collect_next
    assert len({each.failure for each in verdict.hypotheses}) == len(verdict.hypotheses) <= 3
