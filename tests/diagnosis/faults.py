"""Loaded into a real worker by `--include`: makes logs that say so slow, or deadly, to read.

A log whose first line is `#fault: <name> [seconds]` has that fault; every other log is read as
ever. What happens is written to the file DENPEX_TEST_FAULTS names, one line for each reading.
DENPEX_TEST_TIME_LIMITS shortens the time limits: seconds, soft and hard.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from diagnosis import tasks
from diagnosis.engine import Compiled, LogFile, Verdict, diagnose

JOURNAL = Path(os.environ["DENPEX_TEST_FAULTS"])


def _sleep(seconds: float) -> None:
    """Sleep through signals and the soft time limit, as a call into a C library does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            time.sleep(end - time.monotonic())
        except BaseException:  # noqa: BLE001 - the soft time limit is raised in here
            continue


def _kill_once(_seconds: float) -> None:
    if JOURNAL.read_text().count("kill_once") == 1:
        os.kill(os.getpid(), signal.SIGKILL)


FAULTS = {
    "slow": time.sleep,
    "deaf": _sleep,
    "kill": lambda _seconds: os.kill(os.getpid(), signal.SIGKILL),
    "kill_once": _kill_once,
    # Child and all: one that outlived its parent for a moment would still answer.
    "kill_worker": lambda _seconds: os.killpg(os.getpgrp(), signal.SIGKILL),
}


def _faulty(files: Sequence[LogFile], compiled: Compiled) -> Verdict:
    first = bytes(files[0].data).partition(b"\n")[0].decode("utf-8", "replace")
    if first.startswith("#fault: "):
        name, _, seconds = first.removeprefix("#fault: ").partition(" ")
        with JOURNAL.open("a") as journal:
            journal.write(f"{name} {os.getpid()}\n")
        if name == "quote":
            raise ValueError(f"cannot read {files[0].data!r}")
        FAULTS[name](float(seconds or 0))
    return diagnose(files, compiled)


setattr(tasks, "diagnose", _faulty)  # noqa: B010 - not one of its own names
if limits := os.environ.get("DENPEX_TEST_TIME_LIMITS"):
    tasks.run_job.soft_time_limit, tasks.run_job.time_limit = map(float, limits.split())
