import json

import pytest

from diagnosis.engine import Compiled, LogFile
from diagnosis.engine import log as logs
from diagnosis.engine.tracebacks import Chain, read_chains
from tests.diagnosis.engine.logs import (
    announced,
    elastic_summary,
    of_rank,
    traceback,
    verdict_on,
)

CAUSED = "\nThe above exception was the direct cause of the following exception:\n"
WHILE = "\nDuring handling of the above exception, another exception occurred:\n"


def chains_of(compiled: Compiled, *parts: str) -> list[Chain]:
    log = logs.read([LogFile("log.txt", "\n".join((*parts, "")).encode())], compiled)
    return read_chains(log)


def told(chains: list[Chain]) -> list[list[tuple[str | None, str | None]]]:
    return [[(part.type, part.message) for part in chain.tracebacks] for chain in chains]


def test_it_works(compiled: Compiled) -> None:
    (chain,) = chains_of(compiled, "before", traceback("ValueError: no rows"), "after")
    assert told([chain]) == [[("ValueError", "no rows")]]
    assert [frame.function for frame in chain.tracebacks[0].frames] == ["train", "backward"]


def test_the_innermost_frame_of_the_user_is_named(compiled: Compiled) -> None:
    (chain,) = chains_of(compiled, traceback("ValueError: no rows", file="/home/me/run.py", line=7))
    assert str(chain.innermost_user_frame) == "/home/me/run.py:7 in train"


@pytest.mark.parametrize("joint", [CAUSED, WHILE])
def test_exceptions_that_python_joined_are_one_chain(compiled: Compiled, joint: str) -> None:
    chains = chains_of(compiled, traceback("KeyError: 'a'"), joint, traceback("OSError: b"))
    assert told(chains) == [[("KeyError", "'a'"), ("OSError", "b")]]


def test_two_tracebacks_without_a_joint_are_two_chains(compiled: Compiled) -> None:
    chains = chains_of(compiled, traceback("KeyError: 'a'"), "retrying", traceback("OSError: b"))
    assert told(chains) == [[("KeyError", "'a'")], [("OSError", "b")]]


def test_ranks_that_interleave_are_told_apart(compiled: Compiled) -> None:
    ranks = [of_rank(rank, f"ValueError: of {rank}").splitlines() for rank in range(3)]
    chains = chains_of(compiled, *(line for lines in zip(*ranks, strict=True) for line in lines))
    assert told(chains) == [[("ValueError", f"of {rank}")] for rank in range(3)]
    assert [chain.source.rank for chain in chains] == [0, 1, 2]


def test_a_chained_traceback_of_a_rank_among_others(compiled: Compiled) -> None:
    joint = "\n".join(f"[rank0]: {line}" for line in WHILE.split("\n"))
    own = "\n".join((of_rank(0, "KeyError: 'a'"), joint, of_rank(0, "OSError: b"))).splitlines()
    other = [f"[rank1]: step {number}" for number in range(len(own))]
    chains = chains_of(compiled, *(line for pair in zip(own, other, strict=True) for line in pair))
    assert told(chains) == [[("KeyError", "'a'"), ("OSError", "b")]]


def test_a_logger_stamps_only_the_first_line(compiled: Compiled) -> None:
    first, _, rest = traceback("ValueError: no rows").partition("\n")
    chains = chains_of(compiled, f"2026-11-30 05:53:43,123 ERROR train: {first}\n{rest}")
    assert told(chains) == [[("ValueError", "no rows")]]


def test_a_traceback_in_a_launchers_report_is_read_at_its_indent(compiled: Compiled) -> None:
    quoted = "\n".join(f"  {line}" for line in traceback("ValueError: no rows").splitlines())
    report = f"  rank      : 3 (local_rank: 3)\n  traceback : {quoted.lstrip()}"
    assert told(chains_of(compiled, report)) == [[("ValueError", "no rows")]]


def test_a_launchers_own_traceback_has_its_type(compiled: Compiled) -> None:
    ((end,),) = told(chains_of(compiled, elastic_summary((0, 9, 1))))
    assert end[0] == "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"


def test_a_traceback_cut_by_the_end_of_the_log_has_no_exception(compiled: Compiled) -> None:
    cut = traceback("ValueError: no rows").rpartition("\n")[0]
    assert told(chains_of(compiled, cut)) == [[(None, None)]]


def test_a_traceback_cut_by_the_next_has_no_exception(compiled: Compiled) -> None:
    cut = traceback("ValueError: no rows").rpartition("\n")[0]
    assert told(chains_of(compiled, cut, traceback("OSError: b"))) == [
        [(None, None)],
        [("OSError", "b")],
    ]


def test_the_further_lines_of_a_message_belong_to_it(compiled: Compiled) -> None:
    error = "RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for a.weight"
    (chain,) = chains_of(compiled, traceback(error), "next")
    assert chain.last.facts.message == b"\tsize mismatch for a.weight"


def test_a_message_goes_on_below_a_blank_line_under_the_mark_of_the_hook(
    compiled: Compiled,
) -> None:
    error = "UnpicklingError: Weights only load failed."
    more = "\n[rank3]: Unsupported operand 118\n\n[rank3]: Check the documentation\nstep 4"
    (chain,) = chains_of(compiled, of_rank(3, error), more, "[rank3]: step 5")
    assert [line.facts.message for line in chain.tracebacks[0].lines[-3:]] == [
        error.encode(),
        b"Unsupported operand 118",
        b"Check the documentation",
    ]


@pytest.mark.parametrize(
    ("above", "ignored"),
    [
        ("Failed to send a request. If CPU is overloaded, it's safe to ignore this error.", True),
        ("Failed to send a request. This error cannot be ignored.", False),
    ],
)
def test_a_traceback_announced_as_safe_to_ignore_is_no_failure(
    compiled: Compiled, above: str, *, ignored: bool
) -> None:
    (chain,) = chains_of(compiled, above, traceback("GetTimeoutError: Get timed out"))
    assert chain.ignored is ignored


@pytest.mark.parametrize(
    "stray", ["train: done", "Epoch: 3/10", "Loss: 0.31", " 12%|#2   | 12/100 [00:01<00:09]"]
)
def test_what_another_process_prints_is_no_exception(compiled: Compiled, stray: str) -> None:
    lines = traceback("ValueError: no rows").splitlines()
    (chain,) = chains_of(compiled, *lines[:3], stray, *lines[3:])
    assert told([chain]) == [[("ValueError", "no rows")]]


@pytest.mark.parametrize(
    "line",
    [
        "socket.timeout: timed out",
        "queue.Empty",
        "triton.runtime.errors.OutOfResources: out of resource",
        "HTTPError: 429 Client Error",
        "MyStop: no more rows",
        "KeyError: 3",
    ],
)
def test_exceptions_of_all_kinds_are_known(compiled: Compiled, line: str) -> None:
    [[(kind, _message)]] = told(chains_of(compiled, traceback(line)))
    assert kind == line.partition(":")[0]


def test_a_bar_that_is_redrawn_does_not_cut_a_traceback(compiled: Compiled) -> None:
    bars = [f" {step}%|#2   | {step}/100 [00:01<00:09, 9.1it/s]" for step in range(9)]
    lines = traceback("ValueError: no rows").splitlines()
    woven = [line for pair in zip(lines, bars, strict=False) for line in pair]
    assert told(chains_of(compiled, *woven)) == [[("ValueError", "no rows")]]


def test_a_traceback_that_begins_over_a_bar_belongs_to_the_bar_s_pod(compiled: Compiled) -> None:
    first, *lines = traceback("ValueError: no rows").splitlines()
    prefix = "[pod/trainer-3/main] "
    (chain,) = chains_of(
        compiled,
        f"{prefix} 12%|#2   | 12/100 [00:01<00:09]\r 13%|#3  | 13/100 [00:02<00:08]\r{first}",
        *(f"{prefix}{line}" for line in lines),
    )
    assert (told([chain]), chain.source.pod) == ([[("ValueError", "no rows")]], "trainer-3")


BAR = " 24%|##3       | 9000/38145 [3:56:48<12:46:52,  1.58s/it]"


@pytest.mark.parametrize("line", range(6))
def test_a_rank_s_line_glued_to_a_progress_bar_is_its_own(compiled: Compiled, line: int) -> None:
    lines = of_rank(3, "ValueError: no rows").splitlines()
    lines[line] = BAR + lines[line]
    (chain,) = chains_of(compiled, *lines)
    assert (told([chain]), chain.source.rank) == ([[("ValueError", "no rows")]], 3)
    assert len(chain.tracebacks[0].frames) == 2


def test_nul_bytes_in_a_traceback_change_nothing(compiled: Compiled) -> None:
    text = of_rank(3, "ValueError: no rows").replace("rank3", "ra\0nk3").replace("Error", "Er\0ror")
    (chain,) = chains_of(compiled, text)
    assert (told([chain]), chain.source.rank) == ([[("ValueError", "no rows")]], 3)


def test_windows_paths_are_the_user_s_or_a_library_s(compiled: Compiled) -> None:
    text = traceback("ValueError: no rows", file=r"C:\Users\me\train.py").replace(
        "/opt/lib/python3.11/site-packages/", r"C:\venv\Lib\site-packages\torch" "\\"
    )
    (chain,) = chains_of(compiled, text)
    assert str(chain.innermost_user_frame) == r"C:\Users\me\train.py:42 in train"


def test_a_message_that_another_process_cut_off_its_type_is_joined(compiled: Compiled) -> None:
    lines = traceback("").splitlines()
    (chain,) = chains_of(
        compiled,
        *lines[:5],
        '    RuntimeErrorRuntimeErrortorch._C._cuda_setDevice(device)  File "/app/x.py", line 3',
        ": CUDA error: invalid device ordinal",
    )
    assert told([chain]) == [[("RuntimeError", "CUDA error: invalid device ordinal")]]


def test_a_colon_without_a_type_above_is_no_exception(compiled: Compiled) -> None:
    lines = traceback("ValueError: no rows").splitlines()
    (chain,) = chains_of(compiled, *lines[:3], ": progress 3", *lines[3:])
    assert told([chain]) == [[("ValueError", "no rows")]]


def test_an_exception_whose_message_is_a_traceback_gives_way_to_what_was_raised_in_it(
    compiled: Compiled,
) -> None:
    verdict = verdict_on(
        compiled,
        traceback("ZeroDivisionError: " + traceback("ZeroDivisionError: division by zero")),
    )
    assert verdict.primary.failure.slug == "python-zero-division"


def test_what_nccl_said_of_its_error_is_part_of_the_exception(compiled: Compiled) -> None:
    error = "torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:219"
    words = "ncclUnhandledCudaError: Call failed.\nLast error:\nFailed to allocate 608 bytes"
    (chain,) = chains_of(compiled, traceback(error), words, "step 3")
    assert chain.last.facts.message == b"Failed to allocate 608 bytes"
    (chain,) = chains_of(compiled, traceback(error), "step 3", words)
    assert chain.last.facts.message == error.encode()


def test_an_exception_that_announces_another_process_s_traceback_gives_way_to_it(
    compiled: Compiled,
) -> None:
    outer = traceback("RuntimeError: Error raised in a child:")
    inner = traceback("ValueError: seven is no power of two", file="/app/child.py")
    for between in ("", "/app/child.py:3: RuntimeWarning: found in sys.modules\n  warn(x)\n"):
        verdict = verdict_on(compiled, f"{outer}\n{between}{inner}")
        assert verdict.primary.summary.startswith("ValueError: seven is no power of two")


def test_a_traceback_far_below_a_colon_is_no_quotation(compiled: Compiled) -> None:
    idle = "\n".join(f"still waiting for {name}" for name in "abcdefgh")
    parts = (traceback("RuntimeError: Lost the store:"), idle, traceback("ValueError: seven"))
    assert verdict_on(compiled, *parts).primary.summary.startswith("RuntimeError: Lost the store")


def test_a_json_logger_s_traceback_is_read(compiled: Compiled) -> None:
    fields = {"levelname": "ERROR", "message": "training failed", "rank": 3}
    record = json.dumps(fields | {"exc_info": traceback("ValueError: seven")})
    verdict = verdict_on(compiled, announced(4), record)
    assert verdict.primary.summary.startswith("ValueError: seven")
    assert verdict.primary.rank == 3


def test_frames_below_a_record_whose_first_line_alone_is_marked_are_its_own(
    compiled: Compiled,
) -> None:
    head = "[2026-11-30 00:02:05 DP1 TP1] Scheduler hit an exception: "
    parts = (
        "[2026-11-30 00:01:01 DP0 TP0] Init torch distributed begin.",
        "[2026-11-30 00:01:01 DP1 TP1] Init torch distributed begin.",
        head + traceback("ValueError: seven is no power of two"),
    )
    verdict = verdict_on(compiled, *parts)
    assert verdict.primary.summary.startswith("ValueError: seven is no power of two")
    assert verdict.primary.rank == 1
