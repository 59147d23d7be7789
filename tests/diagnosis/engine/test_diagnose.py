import json
import random
import sys

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine import Compiled, LogFile, diagnose
from diagnosis.engine.verdict import SCHEMA_FILE
from tests.diagnosis.engine.logs import (
    PEER_CLOSED,
    announced,
    elastic_failed,
    elastic_summary,
    engine,
    of_rank,
    steps,
    traceback,
    verdict_on,
)

SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def slug(verdict) -> str | None:
    failure = verdict.primary and verdict.primary.failure
    return failure and failure.slug


def test_it_works(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, announced(2), of_rank(1, "KeyError: 'mask'"))
    assert (verdict.outcome, verdict.primary.rank) == ("established", 1)
    assert slug(verdict) == "python-key-error"
    assert verdict.primary.evidence[0].text == "[rank1]: KeyError: 'mask'"


def test_loudest_rank_is_not_blamed(compiled: Compiled) -> None:
    loud = [of_rank(rank, PEER_CLOSED) for rank in (0, 1, 2, 4, 5, 6, 7)]
    verdict = verdict_on(
        compiled, announced(8), *loud[:3], of_rank(3, "KeyError: 'mask'"), *loud[3:]
    )
    assert (slug(verdict), verdict.primary.rank) == ("python-key-error", 3)
    (consequence,) = (c for c in verdict.consequences if c.failure == "gloo-peer-closed")
    assert consequence.ranks == (0, 1, 2, 4, 5, 6, 7)
    assert consequence.explained_by == "python-key-error"


def test_the_first_observed_failure_of_a_launcher_does_not_outrank_the_cause(
    compiled: Compiled,
) -> None:
    verdict = verdict_on(
        compiled,
        announced(2),
        of_rank(0, PEER_CLOSED),
        of_rank(1, "KeyError: 'mask'"),
        elastic_failed(0, 9000),
        elastic_summary((1, 9001, 1), (0, 9000, 1)),
    )
    assert (slug(verdict), verdict.primary.rank) == ("python-key-error", 1)


def test_a_killed_rank_prints_nothing_and_is_named_by_its_launcher(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        announced(3),
        of_rank(0, PEER_CLOSED),
        of_rank(2, PEER_CLOSED),
        elastic_failed(1, 9001, -9),
        elastic_summary((0, 9000, -15), (2, 9002, -15), (1, 9001, -9)),
    )
    assert (slug(verdict), verdict.primary.rank) == ("process-killed-by-sigkill", 1)
    assert {each.rank: each.fate for each in verdict.ranks} == {
        0: "aborted_by_peer",
        1: "initiated",
        2: "aborted_by_peer",
    }


def test_a_process_killed_by_its_own_launcher_did_not_start_it(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        announced(2),
        of_rank(0, "ValueError: batch 7 is empty"),
        "W1130 06:01:14.718000 23823 torch/distributed/elastic/multiprocessing/api.py:1047] Unable"
        " to shutdown process 9001 via 15, forcefully exiting via 9",
        elastic_summary((1, 9001, -9), (0, 9000, 1)),
    )
    assert (verdict.outcome, verdict.primary.rank) == ("unrecognised", 0)


def test_a_rank_that_says_nothing_is_found_by_elimination(compiled: Compiled) -> None:
    complaints = [of_rank(rank, PEER_CLOSED) for rank in (0, 1, 3)]
    verdict = verdict_on(compiled, announced(4), *complaints)
    assert verdict.outcome == "symptom_only"
    assert (verdict.primary.rank, verdict.primary.rank_basis) == (2, "eliminated")


def test_a_failure_of_all_ranks_has_no_initiator(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled, announced(3), *(of_rank(rank, "KeyError: 'mask'") for rank in range(3))
    )
    assert (slug(verdict), verdict.primary.rank) == ("python-key-error", None)


def test_an_unknown_exception_is_answered_with_rank_type_message_and_frame(
    compiled: Compiled,
) -> None:
    verdict = verdict_on(
        compiled,
        announced(2),
        of_rank(1, "ZarrBoomError: chunk 12 is odd"),
        of_rank(0, PEER_CLOSED),
    )
    assert (verdict.outcome, verdict.primary.failure, verdict.primary.rank) == (
        "unrecognised",
        None,
        1,
    )
    for told in ("ZarrBoomError", "chunk 12 is odd", "/app/train.py:42"):
        assert told in verdict.primary.summary


def test_a_crash_without_a_word_is_told_with_its_signal(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        announced(2),
        of_rank(0, PEER_CLOSED),
        elastic_summary((0, 9000, -15), (1, 9001, -24)),
    )
    assert (verdict.outcome, verdict.primary.rank) == ("unrecognised", 1)
    assert "SIGXCPU" in verdict.primary.summary


def test_interleaved_tracebacks_are_told_apart(compiled: Compiled) -> None:
    one = of_rank(0, PEER_CLOSED).splitlines()
    other = of_rank(1, "KeyError: 'mask'").splitlines()
    woven = [line for pair in zip(one, other, strict=True) for line in pair]
    verdict = verdict_on(compiled, announced(2), *woven)
    assert (slug(verdict), verdict.primary.rank) == ("python-key-error", 1)


def test_ctrl_c_is_no_failure_and_says_so(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, steps(1, 5), traceback("KeyboardInterrupt"))
    assert verdict.outcome == "no_failure"
    assert "Ctrl-C" in verdict.primary.summary


def test_a_trainer_that_reports_ctrl_c_without_a_traceback_is_believed(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled, steps(1, 5), "Detected KeyboardInterrupt, attempting graceful shutdown ..."
    )
    assert verdict.outcome == "no_failure"
    assert "Ctrl-C" in verdict.primary.summary


def test_a_failure_before_ctrl_c_is_still_a_failure(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, of_rank(1, "KeyError: 'mask'"), traceback("KeyboardInterrupt"))
    assert slug(verdict) == "python-key-error"


def test_a_fault_that_the_run_survived_is_recovered(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled, steps(1, 5), traceback("KeyError: 'optional'"), steps(6, 20), "Training completed"
    )
    assert verdict.outcome == "no_failure"
    assert [each.failure for each in verdict.recovered] == ["python-key-error"]


def test_an_exception_that_python_ignored_is_no_failure(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        steps(1, 5),
        "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f31>",
        traceback("AssertionError: can only test a child process"),
    )
    assert verdict.outcome == "no_failure"


def test_a_restart_that_works_is_no_failure(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        of_rank(0, "KeyError: 'mask'"),
        elastic_failed(0, 9000),
        steps(1, 30, rank=0),
    )
    assert verdict.outcome == "no_failure"


def test_a_restart_that_fails_anew_is_blamed_on_what_failed_first(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        announced(2),
        of_rank(1, "KeyError: 'mask'"),
        elastic_failed(1, 9001),
        of_rank(0, "ValueError: stale rendezvous"),
        elastic_failed(0, 9100),
        elastic_summary((0, 9100, 1)),
    )
    assert (slug(verdict), verdict.primary.rank) == ("python-key-error", 1)


def test_text_that_only_talks_of_errors_is_no_failure(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled,
        "INFO: metrics: error_rate 0.12, oom_retries 0, timeout_s 1800, nan_count 2",
        "CUDA kernel errors might be asynchronously reported at some other API call",
        "This might be caused by insufficient shared memory (shm).",
    )
    assert verdict.outcome == "no_failure"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"  \n \n",
        b"hello",
        b"\x7fELF\x02\x01\x01" + b"\0" * 40,
        b"\x89PNG\r\n\x1a\n",
        b"PK\x03\x04data",
        random.Random(3).randbytes(2048),
        b"step 1\n" + random.Random(4).randbytes(20_000),
    ],
    ids=["nothing", "blanks", "a word", "ELF", "PNG", "ZIP", "2 KB of noise", "noise"],
)
def test_what_is_no_log_is_unreadable(compiled: Compiled, data: bytes) -> None:
    assert diagnose([LogFile("x", data)], compiled).outcome == "unreadable"


@pytest.mark.parametrize("encoding", ["gb18030", "shift_jis", "latin-1"])
def test_text_in_an_old_encoding_is_read(compiled: Compiled, encoding: str) -> None:
    words = "Fehler beim Öffnen: größer" if encoding == "latin-1" else "学習 学中 文学 中文" * 9
    log = f"{words}\n{traceback('ValueError: x')}\n{words}\n".encode(encoding)
    assert diagnose([LogFile("x", log)], compiled).outcome == "unrecognised"


def test_no_file_at_all_is_unreadable(compiled: Compiled) -> None:
    assert diagnose([], compiled).outcome == "unreadable"


def test_a_file_name_tells_the_rank(compiled: Compiled) -> None:
    files = [
        LogFile("logs/rank_0.log", traceback(PEER_CLOSED).encode()),
        LogFile("logs/rank_1.log", traceback("KeyError: 'mask'").encode()),
    ]
    verdict = diagnose(files, compiled)
    assert (slug(verdict), verdict.primary.rank) == ("python-key-error", 1)
    assert verdict.primary.evidence[0].file == "logs/rank_1.log"


def test_line_numbers_are_those_of_the_paste(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, "one\r\ntwo\rstill two\r\n", of_rank(1, "KeyError: 'mask'"))
    assert verdict.primary.evidence[0].line == 4 + 5


def test_equal_input_gives_equal_bytes(compiled: Compiled) -> None:
    parts = (announced(4), of_rank(2, "KeyError: 'mask'"), of_rank(0, PEER_CLOSED))
    assert verdict_on(compiled, *parts).as_json() == verdict_on(compiled, *parts).as_json()


FRAGMENTS = st.sampled_from(
    [
        "Traceback (most recent call last):",
        '  File "/app/x.py", line 3, in f',
        "KeyError: 'a'",
        "[rank1]: ",
        "\n",
        "\r",
        "\0",
        "E1130 06:20:27.191000 23823 torch/x.py:1002] ",
        "failed (exitcode: -9) local_rank: 2 (pid: 12)",
        "rank      : 3 (local_rank: 1)",
        "  exitcode  : -11 (pid: 12)  (SIGSEGV)",
        "traceback : Traceback (most recent call last):",
        "During handling of the above exception, another exception occurred:",
        "world size 8",
        "KeyboardInterrupt",
        "step 3/10",
        PEER_CLOSED,
        '{"log": "',
        '"}',
        "\\n",
        "\x1f[rank9]rank=9\x1f",
        "> ",
        " 12%|#2 | 12/100 [00:01<00:09]",
        ' File "/app/x.py", line 3, in f ',
        "Traceback (most recent call last): (RANK 2)",
        "-- Process 1 terminated with the following error:",
        "1: W1130 06:19:53.682000 23821 torch/distributed/run.py:874] ",
        "Received a dump signal due to a collective timeout from  rank 2",
        "last enqueued NCCL work: 5",
        "(RayTrainWorker pid=7) ",
    ]
)


@given(st.one_of(st.binary(max_size=500), st.lists(FRAGMENTS, max_size=40).map("".join)))
def test_any_input_gives_a_verdict_valid_by_the_schema(data: bytes | str) -> None:
    raw = data if isinstance(data, bytes) else data.encode()
    verdict = diagnose([LogFile("log.txt", raw)], engine())
    SCHEMA.validate(json.loads(verdict.as_json()))


def unlike(number: int) -> str:
    return f"Odd{number}Error: x"


@pytest.mark.parametrize(
    "part",
    [
        "x[rank1]: KeyError: 'a' ",
        'Traceback (most recent call last): File "a.py", line 1, in f ',
        "KeyError: 'a'\r",
        '{"message": "KeyError"}\n',
        lambda number: unlike(number) + "\n",
        lambda number: traceback(unlike(number)) + "\n",
        lambda number: of_rank(number, PEER_CLOSED) + "\n",
    ],
)
def test_work_grows_in_step_with_the_log(compiled: Compiled, part) -> None:
    work = []
    for count in (200, 800):
        text = "".join(part(number) if callable(part) else part for number in range(count))
        calls = 0

        def count_call(_frame, event: str, _argument) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count_call)
        try:
            diagnose([LogFile("log.txt", text.encode())], compiled)
        finally:
            sys.setprofile(None)
        work.append(calls)
    assert work[1] < 8 * work[0]


COMPILER = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:"
TEARDOWN = "RuntimeError: One of the workers is gone. Look above for the reason"


def test_what_a_process_raises_after_a_known_symptom_is_not_the_root(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, traceback(COMPILER), traceback(TEARDOWN, line=77))
    assert slug(verdict) == "torch-compile-backend-failed"
    assert "earliest failure that nothing else" not in verdict.primary.why


def test_what_another_rank_raises_after_a_symptom_may_be_the_root(compiled: Compiled) -> None:
    other = "\n".join(f"[rank1]: {line}" for line in traceback(TEARDOWN, line=77).splitlines())
    verdict = verdict_on(compiled, announced(2), of_rank(0, COMPILER), other)
    assert (slug(verdict), verdict.primary.rank) == (None, 1)


def test_what_is_raised_after_a_lost_peer_may_be_the_root(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, traceback(PEER_CLOSED), traceback(TEARDOWN, line=77))
    assert slug(verdict) is None


def test_a_first_sign_that_gives_its_reason_is_quoted(compiled: Compiled) -> None:
    told = "unable to load plan file to auto complete config: /models/ensemble/1/model.plan"
    verdict = verdict_on(
        compiled,
        f"E1130 05:53:43.118204 1 model_lifecycle.cc:654] failed to load 'ensemble' version 1:"
        f" Internal: {told}",
        "error: creating server: Internal - failed to load all models",
    )
    assert verdict.outcome == "symptom_only"
    assert f"It gives a reason: Internal: {told}." in verdict.primary.why
    assert "no line of this log" not in verdict.primary.why


def test_a_cause_told_by_the_kernel_is_no_later_than_what_it_did(compiled: Compiled) -> None:
    """Its log is pasted below that of the run, whose script went on after the kill."""
    killed = (
        "[2059991.491542] Out of memory: Killed process {} (python) total-vm:53312244kB,"
        " anon-rss:31451456kB, file-rss:74732kB, shmem-rss:12296kB"
    )
    parts = (
        steps(1, 3),
        "run.sh: line 48:  9000 Killed                  python train.py",
        traceback("FileNotFoundError: [Errno 2] No such file or directory: 'out/model.bin'"),
        killed,
    )
    same, other = ("\n".join(parts).format(pid) for pid in (9000, 9999))
    assert verdict_on(compiled, same).primary.failure.slug == "host-oom-killer"
    assert verdict_on(compiled, other).primary.failure.slug != "host-oom-killer"


def test_a_rank_that_lost_a_peer_and_then_aborted_is_not_blamed(compiled: Compiled) -> None:
    summary = elastic_summary((1, 9001, -6), (2, 9002, -9))
    parts = (announced(4), of_rank(1, PEER_CLOSED), elastic_failed(1, 9001, -6), summary)
    verdict = verdict_on(compiled, *parts)
    assert verdict.primary.failure.slug == "process-killed-by-sigkill"
    assert verdict.primary.rank == 2


def test_a_job_that_its_scheduler_requeued_and_that_went_on_did_not_fail(
    compiled: Compiled,
) -> None:
    at = "2026-11-30T03:12:29"
    cancelled = f"slurmstepd: error: *** JOB 81 ON n-7 CANCELLED AT {at} DUE TO PREEMPTION ***"
    restored = "Restored all states from the checkpoint at /scratch/runs/71/hpc_ckpt_1.ckpt"
    parts = (steps(1, 3), cancelled, restored, steps(4, 9))
    assert verdict_on(compiled, *parts).outcome == "no_failure"
    assert verdict_on(compiled, *parts[:2]).outcome != "no_failure"
