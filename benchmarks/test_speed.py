"""How fast the engine is, beside the tools people would otherwise use, in one run.

Nothing here is an assertion about time: `make bench` reports, and a person judges.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import LOG_BYTES, MEGABYTE
from benchmarks.inputs import adversarial_lines, healthy_log, patterns
from diagnosis.engine import LogFile, diagnose, load_compiled
from diagnosis.engine.masking import mask
from diagnosis.engine.scanner import Scanner

Measured = Callable[[str, float], None]
Noted = Callable[[str], None]
LOGS = ("healthy", "dense")
C_LOCALE = {**os.environ, "LC_ALL": "C"}


def measure(benchmark: Any, run: Callable[[], object], rounds: int = 3) -> float:
    """Run a few rounds and return the fastest, in seconds."""
    benchmark.pedantic(run, rounds=rounds, iterations=1)
    return float(benchmark.stats.stats.min)


@pytest.mark.parametrize("kind", LOGS)
def test_scan(benchmark: Any, folder: Path, measured: Measured, kind: str) -> None:
    scanner = Scanner([pattern.encode() for pattern in patterns()])
    data = (folder / f"{kind}.log").read_bytes()
    measured(f"scan, {kind} log", measure(benchmark, lambda: scanner.scan(data)))


@pytest.mark.parametrize("kind", LOGS)
def test_grep(benchmark: Any, folder: Path, measured: Measured, kind: str) -> None:
    command = ["grep", "-a", "-E", "-c", "-f", "patterns.txt", f"{kind}.log"]

    def run() -> None:
        # grep stops at the first line found where its output is /dev/null, so it writes to a pipe.
        subprocess.run(command, cwd=folder, env=C_LOCALE, stdout=subprocess.PIPE, check=True)

    measured(f"grep -E, {kind} log", measure(benchmark, run, rounds=1))


# rg takes minutes for what is dense with failures, so a part of it speaks for the whole.
@pytest.mark.parametrize(("kind", "share"), [("healthy", 1), ("dense", 20)])
def test_ripgrep(benchmark: Any, folder: Path, measured: Measured, kind: str, share: int) -> None:
    whole = (folder / f"{kind}.log").read_bytes()
    (folder / "part.log").write_bytes(whole[-(len(whole) // share) :])
    command = ["rg", "-a", "-j1", "-c", "-f", "patterns.txt", "part.log"]

    def run() -> None:
        subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)

    measured(f"rg, {kind} log", share * measure(benchmark, run, rounds=3 if share == 1 else 1))


def test_alternation_of_the_standard_library(
    benchmark: Any, folder: Path, measured: Measured
) -> None:
    share = 10  # it would take minutes for the whole
    data = (folder / "healthy.log").read_bytes()[: LOG_BYTES // share]
    alternation = re.compile("|".join(patterns()).encode(), re.MULTILINE)

    def run() -> None:
        for _ in alternation.finditer(data):
            pass

    seconds = measure(benchmark, run, rounds=1)
    measured("re alternation, healthy log", seconds * share)


@pytest.mark.parametrize("kind", LOGS)
def test_mask_and_diagnose(benchmark: Any, folder: Path, measured: Measured, kind: str) -> None:
    compiled = load_compiled()
    log = LogFile("log.txt", (folder / f"{kind}.log").read_bytes())

    def run() -> None:
        diagnose(mask([log]).logs, compiled)

    measured(f"mask and diagnose, {kind} log", measure(benchmark, run, rounds=1))


@pytest.mark.parametrize("megabytes", [1, 5, 50, 500])
def test_growth_and_memory(benchmark: Any, folder: Path, noted: Noted, megabytes: int) -> None:
    path = folder / "grown.log"
    path.write_bytes(healthy_log(megabytes * MEGABYTE))
    code = (
        "import re, sys, time\n"
        "from diagnosis.engine import LogFile, diagnose, load_compiled\n"
        "compiled = load_compiled()\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "start = time.perf_counter()\n"
        "diagnose([LogFile('log.txt', data)], compiled)\n"
        "seconds = time.perf_counter() - start\n"
        # What getrusage tells of a child counts in what its parent held when it was started.
        "status = open('/proc/self/status').read()\n"
        "print(seconds, re.search(r'VmHWM:\\s+(\\d+)', status)[1])\n"
    )
    told: list[str] = []

    def run() -> None:
        done = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
        )
        told[:] = done.stdout.split()

    measure(benchmark, run, rounds=1)
    seconds, kilobytes = float(told[0]), int(told[1])
    noted(
        f"diagnose {megabytes} MB: {seconds:.3f} s, {seconds / megabytes * 1000:.1f} ms a MB,"
        f" {kilobytes / 1000:.0f} MB of memory with the log"
    )


@pytest.mark.parametrize("name", [name for name, _ in adversarial_lines(1)])
def test_adversarial_lines_grow_in_step(benchmark: Any, noted: Noted, name: str) -> None:
    compiled = load_compiled()
    seconds = []
    for size in (1, 4):
        data = dict(adversarial_lines(size * MEGABYTE))[name]
        start = time.perf_counter()
        diagnose(mask([LogFile("log.txt", data)]).logs, compiled)
        seconds.append(time.perf_counter() - start)
    benchmark.pedantic(lambda: None)
    noted(f"{name}: 1 MB {seconds[0]:.2f} s, 4 MB {seconds[1]:.2f} s")


def test_command_line_start(benchmark: Any, folder: Path, noted: Noted) -> None:
    path = folder / "small.log"
    path.write_bytes(healthy_log(MEGABYTE))
    command = [sys.executable, "-m", "denpex.cli", "diagnose", str(path)]

    def run() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    seconds = measure(benchmark, run, rounds=5)
    noted(f"denpex diagnose on 1 MB, with the start: {seconds:.3f} s")
