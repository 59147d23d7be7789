"""Work is counted, not timed: the calls of one diagnosis, on texts meant to slow it down."""

from __future__ import annotations

import sys

import pytest

from diagnosis.engine import LogFile, diagnose, load_compiled

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/work/train.py", line 12, in main\n'
    "    batch = data[key]\n"
    "KeyError: 'mask'\n"
)
ELASTIC = "torch/distributed/elastic/multiprocessing/api.py:869]"
HOSTILE = {
    "exceptions": "KeyError: 'mask'\n",
    "headers": "Traceback (most recent call last):\n",
    "frames": '  File "/work/train.py", line 12, in main\n',
    "tracebacks": TRACEBACK,
    "chained tracebacks": TRACEBACK
    + "\nDuring handling of the above exception, another exception occurred:\n\n",
    "announcements of a chain": "The above exception was the direct cause of the following:\n",
    "settings of processes": "Discovered MPI settings of world_rank=4, local_rank=0, world_size=8,"
    " master_addr=10.0.0.5, master_port=29500\n",
    "children that ended": "torch.multiprocessing.spawn.ProcessExitedException: process 1"
    " terminated with signal SIGBUS\n",
    "exit codes": "  exitcode  : -9 (pid: 26174)\n",
    "worker groups that failed": "E1201 03:10:07.123456 81 " + ELASTIC + " failed (exitcode: 1)"
    " local_rank: 0 (pid: 90) of binary: /usr/bin/python\n",
    "agents that gave up": "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n",
    "time-outs": "[E1201 03:10:07.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught"
    " collective operation timeout: WorkNCCL(SeqNum=88, OpType=ALLREDUCE, NumelIn=1,"
    " NumelOut=1, Timeout(ms)=600000) ran for 600009 milliseconds before timing out.\n",
    "lost peers": "RuntimeError: Connection closed by peer [10.0.0.7]:29500\n",
    "full GPUs": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"
    " a total capacity of 79.14 GiB of which 1.00 GiB is free.\n",
    "kernel lines": "[ 1234.567890] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off"
    " the bus.\n",
    "faults and progress": "RuntimeError: it went wrong\nstep 12 loss 3.1\n",
    "brackets": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
}


def same(unit: str, number: int) -> str:
    return unit


def ranked(unit: str, number: int) -> str:
    return "".join(f"[rank{number}]: {line}\n" for line in unit.splitlines())


def stamped(unit: str, number: int) -> str:
    time = f"2026-11-30 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02},000"
    return "".join(f"{time} host-{number} {line}\n" for line in unit.splitlines())


def calls_for(compiled, text: str) -> int:
    """Count the calls, of Python's functions and of those written in C."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        diagnose([LogFile("run.log", text.encode())], compiled)
    finally:
        sys.setprofile(None)
    return calls


@pytest.fixture(scope="module")
def compiled():
    compiled = load_compiled()
    diagnose([LogFile("run.log", TRACEBACK.encode())], compiled)
    return compiled


@pytest.mark.parametrize("written", [same, ranked, stamped])
@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_four_times_the_lines_are_four_times_the_work(compiled, unit, written):
    def work_for(count: int) -> int:
        text = "".join(written(unit, number) for number in range(count))
        return calls_for(compiled, text)

    idle = work_for(1)
    small, large = work_for(150), work_for(600)

    assert large - idle <= 4.6 * max(small - idle, 2_000)
