"""`denpex up`: the real runner with real services, in a data folder of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from denpex import embedded, processes, up

PROJECT = Path(embedded.__file__).parent.parent
UP = (sys.executable, "-m", "denpex.cli", "up")
CHILDREN = {"postgresql", "valkey", "gunicorn", "worker", "beat"}
CONFIGURED_BY_TESTS = ("DATABASE_URL", "REDIS_URL", "DENPEX_SECRET_KEY", "DENPEX_ALLOWED_HOSTS")


class Runner:
    """A running `denpex up`, and what it has printed so far."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, port: int) -> None:
        self.process = process
        self.folder = folder
        self.address = f"http://127.0.0.1:{port}"
        self.printed = ""

    def wait_for(self, text: str, seconds: float = 300) -> None:
        """Read on until `text` is printed; fails where the runner ends before.

        A first start takes minutes on a machine that has much else to do.
        """
        deadline = time.monotonic() + seconds
        while text not in self.printed:
            assert time.monotonic() < deadline, self.printed
            line = self.process.stdout.readline() if self.process.stdout else ""
            assert line, f"The runner ended. It printed:\n{self.printed}"
            self.printed += line

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Read what is left, and return the exit status."""
        if self.process.stdout and not self.process.stdout.closed:
            self.printed += self.process.communicate(timeout=60)[0]
        return self.process.wait()

    def children(self) -> dict[str, tuple[int, str]]:
        files = (self.folder / "run").glob("*.pid")
        return {file.stem: record for file in files if (record := processes.recorded(file))}

    def runs_another(self, name: str, child: tuple[int, str]) -> bool:
        return self.children().get(name, child) != child

    def open(self, path: str = "/") -> str:
        with urllib.request.urlopen(f"{self.address}{path}", timeout=10) as response:
            return response.read().decode()

    def answers(self) -> bool:
        try:
            return "<h1" in self.open()
        except OSError:
            return False


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One data folder for this module: the first start makes the database, the rest take it up."""
    data = tmp_path_factory.mktemp("up") / "data"
    yield data
    processes.end_leftovers(data)
    embedded.remove_cluster(data)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def start(folder: Path, port: int, command: tuple[str, ...] = UP, /, **variables: str) -> Runner:
    environment = {k: v for k, v in os.environ.items() if k not in CONFIGURED_BY_TESTS}
    process = subprocess.Popen(
        command,
        env=environment | {"DENPEX_DATA": str(folder), "PORT": str(port)} | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return Runner(process, folder, port)


@contextlib.contextmanager
def running(
    folder: Path, port: int, command: tuple[str, ...] = UP, /, **variables: str
) -> Iterator[Runner]:
    """Run the site until the block is left, whether or not the block ended the runner itself."""
    runner = start(folder, port, command, **variables)
    try:
        runner.wait_for("Press Ctrl-C to stop it.")
        yield runner
    finally:
        if runner.process.poll() is None:
            runner.process.terminate()
        runner.wait()


def assert_all_ended(children: dict[str, tuple[int, str]]) -> None:
    assert [name for name, child in children.items() if processes.is_alive(*child)] == []


def members(session: int) -> list[int]:
    """Return the processes of a session: a child, and whatever that has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(entry.name)) == session:
                found.append(int(entry.name))
    return found


def database_url(folder: Path) -> str:
    """Return the address of the database that the runner has started."""
    return embedded.postgres_service(folder).url


def test_it_works_and_ctrl_c_ends_every_child(folder: Path, port: int) -> None:
    with running(folder, port) as runner:
        assert f"Denpex is ready at {runner.address}" in runner.printed
        assert "<h1" in runner.open()
        children = runner.children()
        assert set(children) == CHILDREN
        sessions = [pid for pid, _ in children.values()]
        assert runner.end(signal.SIGINT) == 0
    assert runner.printed.endswith("Denpex has stopped.\n")
    assert_all_ended(children)
    assert [members(session) for session in sessions] == [[]] * len(CHILDREN)
    assert runner.children() == {}


def test_second_start_takes_up_the_same_data(folder: Path, port: int) -> None:
    with running(folder, port) as first, psycopg.connect(database_url(folder)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'by the first' AS word")
    with running(folder, port), psycopg.connect(database_url(folder)) as connection:
        row = connection.execute("SELECT word FROM kept").fetchone()
        connection.execute("DROP TABLE kept")
    assert first.process.returncode == 0
    assert row == ("by the first",)


def manage(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in CONFIGURED_BY_TESTS}
    return subprocess.run(
        (sys.executable, "-m", "denpex.cli", "manage", *arguments),
        env=environment | {"DENPEX_DATA": str(folder), "DJANGO_SUPERUSER_PASSWORD": "a long one 7"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_staff_are_made_beside_the_running_site(folder: Path, port: int) -> None:
    make = ("createsuperuser", "--noinput", "--email", "staff@example.org")
    with running(folder, port):
        assert manage(folder, *make).returncode == 0
        with psycopg.connect(database_url(folder)) as connection:
            found = connection.execute("SELECT email FROM accounts_user WHERE is_staff").fetchall()

    assert found == [("staff@example.org",)]
    told = manage(folder, *make)
    assert (told.returncode, "does not run here" in told.stderr) == (1, True)


def test_what_a_killed_runner_left_is_ended_by_the_next(folder: Path, port: int) -> None:
    with running(folder, port) as killed:
        left = killed.children()
        killed.end(signal.SIGKILL)
    assert all(processes.is_alive(*child) for child in left.values())
    with running(folder, port) as runner:
        assert "Ended gunicorn, which a killed runner had left." in runner.printed
        assert_all_ended(left)
        assert set(runner.children()) == CHILDREN


def test_second_runner_is_refused_and_the_first_goes_on(folder: Path, port: int) -> None:
    with running(folder, port) as first:
        second = start(folder, port + 1)
        assert second.wait() == 1
        assert "Denpex already runs from this folder" in second.printed
        assert first.address in second.printed
        assert "<h1" in first.open()
        assert set(first.children()) == CHILDREN


def test_runner_waits_for_one_that_is_stopping(folder: Path, port: int) -> None:
    with running(folder, port) as first:
        first.process.send_signal(signal.SIGTERM)
        first.wait_for("Stopping ...")
        with running(folder, port) as second:
            assert first.wait() == 0
            assert "<h1" in second.open()


def test_killed_child_is_started_again(folder: Path, port: int) -> None:
    with running(folder, port) as runner:
        for name in ("gunicorn", "worker", "postgresql"):
            before = runner.children()[name]
            os.kill(before[0], signal.SIGKILL)
            runner.wait_for(f"{name} was killed by SIGKILL; starting it again.")
            wait_for(functools.partial(runner.runs_another, name, before))
        wait_for(runner.answers)


def test_end_of_the_parent_ends_the_site(folder: Path, port: int) -> None:
    make = ("sh", "-c", f"{shlex.join((*UP, '--with-parent'))}; exit 5")
    with running(folder, port, make) as runner:
        children = runner.children()
        runner.process.kill()
        runner.wait_for("Denpex has stopped.")
    assert_all_ended(children)


def test_taken_port_is_said_before_anything_starts(tmp_path: Path, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        runner = start(tmp_path / "data", port)
        assert runner.wait() == 1
    assert f"Port {port} is taken by another program" in runner.printed
    assert "make run PORT=8000" in runner.printed
    assert not (tmp_path / "data" / "run").exists()


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "80.5"])
def test_port_that_is_none_is_said(tmp_path: Path, text: str) -> None:
    runner = start(tmp_path / "data", 1, PORT=text)
    assert runner.wait() == 1
    assert f"PORT is '{text}'" in runner.printed


def test_services_of_the_users_own_are_used(services: None, tmp_path: Path, port: int) -> None:
    own = {name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL")}
    with running(tmp_path / "data", port, **own) as runner:
        assert set(runner.children()) == CHILDREN - {"postgresql", "valkey"}
        assert "<h1" in runner.open()


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("DATABASE_URL", "postgresql://nobody@%2Fnowhere/none", "PostgreSQL does not answer"),
        ("REDIS_URL", "unix:///nowhere/redis.sock", "Redis does not answer"),
        ("REDIS_URL", "mysql://example", "denpex.E001"),
    ],
)
def test_service_that_cannot_be_reached_is_named(
    folder: Path, port: int, name: str, url: str, message: str
) -> None:
    runner = start(folder, port, **{name: url})
    assert runner.wait() == 1
    assert message in runner.printed
    assert "Traceback" not in runner.printed
    assert runner.children() == {}


def test_secret_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret-key"
    key = up._secret_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(key) >= 50
    assert up._secret_key(path) == key


def test_data_folder_of_another_kind_is_said(tmp_path: Path, port: int) -> None:
    (tmp_path / "data").write_text("a file")
    runner = start(tmp_path / "data", port)
    assert runner.wait() == 1
    assert "denpex up: " in runner.printed
    assert "Traceback" not in runner.printed
