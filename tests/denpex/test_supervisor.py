"""The supervisor: what it starts again, when it gives up, and that it leaves nothing running."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex import processes, supervisor
from denpex.processes import Program
from denpex.supervisor import ChildFailedError, Stop, StopRequested, Supervisor

PROJECT = Path(supervisor.__file__).parent.parent


class StopAfter(Stop):
    """Asks to stop once a condition holds, and fails the test where it never does."""

    def __init__(self, condition: Callable[[], object], seconds: float = 15) -> None:
        super().__init__()
        self._condition = condition
        self._deadline = time.monotonic() + seconds

    def check(self) -> None:
        assert time.monotonic() < self._deadline
        if self._condition():
            raise StopRequested


def program(name: str, script: str) -> Program:
    return Program(name, ("sh", "-c", script), dict(os.environ), Path("/"))


@pytest.fixture(autouse=True)
def _short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "RESTART_PAUSE_SECONDS", 0.05)


def test_child_that_ends_is_started_again(tmp_path: Path) -> None:
    said: list[str] = []
    log = tmp_path / "logs" / "worker.log"
    stop = StopAfter(lambda: log.exists() and log.read_text().count("started") == 3)
    worker = program("worker", "echo started; sleep 0.1; kill -KILL $$")
    with pytest.raises(StopRequested), Supervisor(stop, said.append, 5) as children:
        children.keep(lambda: worker.start(tmp_path))
        children.watch()
    assert said == ["worker was killed by SIGKILL; starting it again."] * 2


def test_child_that_ends_too_often_ends_all(tmp_path: Path) -> None:
    stop = StopAfter(lambda: False)
    worker, web = program("worker", "echo out of luck; exit 7"), program("web", "sleep 60")
    with (
        pytest.raises(ChildFailedError, match=r"(?s)worker ended with status 7.*out of luck"),
        Supervisor(stop, lambda _: None, 5) as children,
    ):
        _, kept = children.keep(lambda: worker.start(tmp_path), lambda: web.start(tmp_path))
        children.watch()
    assert processes.mark(kept.process.pid) is None


def test_what_was_kept_first_ends_last(tmp_path: Path) -> None:
    order = tmp_path / "order"
    script = f"trap 'echo $0 >> {order}; exit' TERM; echo up; while :; do sleep 0.05; done"
    programs = [
        Program(name, ("sh", "-c", script, name), dict(os.environ), Path("/"))
        for name in ("database", "site")
    ]
    logs = [tmp_path / "logs" / f"{name}.log" for name in ("database", "site")]
    stop = StopAfter(lambda: all(log.exists() and log.read_text() for log in logs))
    with pytest.raises(StopRequested), Supervisor(stop, lambda _: None, 5) as children:
        for each in programs:
            children.keep(functools.partial(each.start, tmp_path))
        children.watch()
    assert order.read_text().split() == ["site", "database"]


def test_step_that_fails_shows_its_log(tmp_path: Path) -> None:
    migrate, other = program("migrate", "echo no such table; exit 1"), program("other", "true")
    with (
        pytest.raises(ChildFailedError, match=r"(?s)migrate failed.*no such table"),
        Supervisor(StopAfter(lambda: False), lambda _: None, 5) as children,
    ):
        children.finish(lambda: other.start(tmp_path), lambda: migrate.start(tmp_path))


def test_step_under_way_is_ended_with_the_rest(tmp_path: Path) -> None:
    step = program("migrate", "sleep 60")
    pid_file = tmp_path / "run" / "migrate.pid"
    with (
        pytest.raises(StopRequested),
        Supervisor(StopAfter(pid_file.exists), lambda _: None, 5) as children,
    ):
        children.finish(lambda: step.start(tmp_path))
    assert not pid_file.exists()


def test_child_that_ends_at_the_start_is_not_started_again(tmp_path: Path) -> None:
    web = program("web", "echo no settings; exit 2")
    with (
        pytest.raises(ChildFailedError, match=r"(?s)web ended with status 2.*no settings"),
        Supervisor(StopAfter(lambda: False), lambda _: None, 5) as children,
    ):
        (child,) = children.keep(lambda: web.start(tmp_path))
        child.process.wait()
        children.refuse_ended()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_asks_to_stop(number: signal.Signals) -> None:
    script = (
        "import signal, denpex.supervisor as s\n"
        # Whoever runs the tests below nohup hands this on as ignored.
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "stop = s.Stop(); stop.listen(); print('listening', flush=True)\n"
        "try:\n    while True: stop.pause()\n"
        "except s.StopRequested: print('stopped')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        process.send_signal(number)
        assert process.stdout.readline() == "stopped\n"


def test_end_of_the_parent_asks_to_stop() -> None:
    script = (
        "import os, denpex.supervisor as s\n"
        "if os.fork(): import time; time.sleep(0.3); os._exit(0)\n"
        "stop = s.Stop(with_parent=True)\n"
        "try:\n    while True: stop.pause()\n"
        "except s.StopRequested: print('stopped')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert result.stdout == "stopped\n"


def test_logs_of_the_last_run_are_kept(tmp_path: Path) -> None:
    (tmp_path / "web.log").write_text("last run")
    (tmp_path / "web.log.1").write_text("the run before")
    supervisor.move_logs_aside(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["web.log.1"]
    assert (tmp_path / "web.log.1").read_text() == "last run"
