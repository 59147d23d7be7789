"""Child processes, and what a killed runner leaves of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex import processes
from denpex.processes import Child, Program


def program(script: str, name: str = "child") -> Program:
    return Program(name, ("sh", "-c", script), dict(os.environ), Path("/"))


def wait_for(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pid_printed_by(child: Child) -> int:
    wait_for(lambda: child.last_lines().strip().isdigit())
    return int(child.last_lines())


def abandon(child: Child) -> None:
    """Reap a leftover, as init does once the runner that started it is gone."""
    child.process.wait()


def test_it_works(tmp_path: Path) -> None:
    child = program("echo hello; exit 3").start(tmp_path)
    wait_for(child.has_ended)
    assert child.last_lines() == "hello"
    assert child.end() == 3
    assert list((tmp_path / "run").iterdir()) == []


def test_child_has_a_session_of_its_own(tmp_path: Path) -> None:
    child = program("sleep 60").start(tmp_path)
    try:
        assert os.getsid(child.process.pid) == child.process.pid
    finally:
        child.end()


def test_child_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    child = program("trap '' TERM; echo $$; while :; do sleep 1; done").start(tmp_path)
    pid_printed_by(child)
    assert child.end(patience=0.2) == -signal.SIGKILL


def test_grandchild_is_ended_with_its_group(tmp_path: Path) -> None:
    child = program("sleep 60 & echo $!; exit 0").start(tmp_path)
    grandchild = pid_printed_by(child)
    wait_for(child.has_ended)
    assert processes.mark(grandchild) is not None
    child.end()
    wait_for(lambda: processes.mark(grandchild) is None)


def test_leftover_is_ended_with_its_group(tmp_path: Path) -> None:
    # The shell starts what goes on in the background deaf to SIGINT.
    child = program("sleep 60 & echo $!; wait", "site").start(tmp_path)
    grandchild = pid_printed_by(child)
    assert processes.end_leftovers(tmp_path, patience=0.5) == ["site"]
    wait_for(lambda: processes.mark(grandchild) is None)
    assert processes.mark(child.process.pid) is None
    assert list((tmp_path / "run").iterdir()) == []
    abandon(child)


def test_leftover_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    child = program("trap '' INT TERM; echo $$; while :; do sleep 1; done").start(tmp_path)
    pid_printed_by(child)
    processes.end_leftovers(tmp_path, patience=0.2)
    wait_for(lambda: processes.mark(child.process.pid) is None)
    abandon(child)


def test_recycled_process_id_is_not_signalled(tmp_path: Path) -> None:
    child = program("sleep 60").start(tmp_path)
    boot, _, start_time = (processes.mark(child.process.pid) or "").partition(":")
    child.pid_file.write_text(f"{child.process.pid}\n{boot}:{int(start_time) - 1}\n")
    assert processes.end_leftovers(tmp_path) == []
    assert not child.has_ended()
    assert not child.pid_file.exists()
    child.end()


@pytest.mark.parametrize("text", ["", "12", "12\n", "none\nmark\n", "12\nNone\n"])
def test_unfinished_pid_file_is_removed(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "site.pid").write_text(text)
    assert processes.end_leftovers(tmp_path) == []
    assert list((tmp_path / "run").iterdir()) == []


def test_nothing_left_is_no_error(tmp_path: Path) -> None:
    assert processes.end_leftovers(tmp_path) == []


def test_mark_reads_past_brackets_in_the_name(tmp_path: Path) -> None:
    strange = tmp_path / "a) R 1 (b"
    strange.symlink_to("/bin/sleep")
    with subprocess.Popen([strange, "60"]) as process:
        first = processes.mark(process.pid)
        assert first is not None
        assert first.partition(":")[2].isdigit()
        assert processes.is_alive(process.pid, first)
        process.kill()
        process.wait()
        assert not processes.is_alive(process.pid, first)
