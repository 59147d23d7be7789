"""`denpex up`: the whole site on one machine, as one foreground process.

It starts what is missing (PostgreSQL where DATABASE_URL is unset, Valkey where REDIS_URL is),
prepares the database, and keeps gunicorn, a Celery worker and beat running until Ctrl-C. Each child
has a session of its own, so that Ctrl-C reaches the runner alone, which ends them in order; what a
killed runner leaves is ended by the next, by their pid files. (honcho offers none of this: it ends
all when one child ends, and its children write to pipes that die with it.)
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import functools
import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn, Self

from denpex.embedded import (
    EmbeddedError,
    Service,
    own_folder,
    postgres_service,
    valkey_service,
)
from denpex.processes import Program, end_leftovers
from denpex.supervisor import (
    Begin,
    ChildFailedError,
    Stop,
    StopRequested,
    Supervisor,
    move_logs_aside,
)

__all__ = ["UpError", "main", "manage"]

PROJECT = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
DEFAULT_PORT = 8000

READY_SECONDS = 60.0
# Celery finishes the diagnosis under way, whose hard limit is 15 s.
STOP_SECONDS = 20.0

_STOPPING = "stopping"


class UpError(RuntimeError):
    """The site cannot run; the message says why and what to do."""


def main(argv: Sequence[str]) -> int:
    """Run the site until it is told to stop; returns 0 then, and 1 where it cannot go on."""
    parser = argparse.ArgumentParser(
        prog="denpex up",
        description="Run the whole site on this machine, in the foreground. Ctrl-C stops it. "
        "PORT chooses the port; DATABASE_URL and REDIS_URL name services of your own.",
    )
    parser.add_argument(
        "--with-parent",
        action="store_true",
        help="stop, too, when the process that started this one is gone",
    )
    stop = Stop(with_parent=parser.parse_args(argv).with_parent)
    stop.listen()
    try:
        _run(stop, os.environ)
    except StopRequested:
        _say("Denpex has stopped.")
        return 0
    except (UpError, EmbeddedError, ChildFailedError, OSError) as error:
        print(f"denpex up: {error}", file=sys.stderr, flush=True)
        return 1


def manage(arguments: Sequence[str]) -> int:
    """Run a command of manage.py beside the site on this machine; returns its exit status."""
    folder = _data_folder(os.environ)
    environment = _environment(folder, os.environ, DEFAULT_PORT)
    for variable, service in _missing_services(folder, environment).items():
        if not service.answers():
            print(
                "denpex manage: the site does not run here; `make run` starts it.", file=sys.stderr
            )
            return 1
        environment[variable] = service.url
    command = [sys.executable, str(PROJECT / "manage.py"), *arguments]
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - the user's


def _data_folder(variables: Mapping[str, str]) -> Path:
    return own_folder((PROJECT / (variables.get("DENPEX_DATA") or ".denpex")).resolve())


def _run(stop: Stop, variables: Mapping[str, str]) -> NoReturn:
    """Run the site; leaves by an exception alone, with every child ended."""
    port = _port(variables)
    address = f"http://{HOST}:{port}"
    folder = _data_folder(variables)
    with _Claim(folder / "runner.lock", address, stop) as claim:
        for name in end_leftovers(folder):
            _say(f"Ended {name}, which a killed runner had left.")
        move_logs_aside(folder / "logs")
        with _bound(port) as listener, Supervisor(stop, _say, STOP_SECONDS) as supervisor:
            try:
                site = _Site(supervisor, folder, variables, listener)
                site.start_services()
                site.prepare()
                site.serve()
                site.work()
                _say(f"Denpex is ready at {address}")
                _say(f"Press Ctrl-C to stop it. Its logs are in {folder / 'logs'}.")
                supervisor.watch()
            finally:
                claim.say_stopping()


class _Site:
    """What runs, in the order in which it starts."""

    def __init__(
        self,
        supervisor: Supervisor,
        folder: Path,
        variables: Mapping[str, str],
        listener: socket.socket,
    ) -> None:
        self._supervisor = supervisor
        self._folder = folder
        self._listener = listener
        self._port: int = listener.getsockname()[1]
        self._environment = _environment(folder, variables, self._port)
        if hosts := variables.get("DENPEX_ALLOWED_HOSTS"):
            self._environment["DENPEX_ALLOWED_HOSTS"] = f"{hosts},{HOST}"

    def start_services(self) -> None:
        """Start the services that no variable names, and name them."""
        services = _missing_services(self._folder, self._environment)
        begins = [
            functools.partial(service.program.start, self._folder) for service in services.values()
        ]
        children = self._supervisor.keep(*begins)
        for (variable, service), child in zip(services.items(), children, strict=True):
            service.wait(child)
            self._environment[variable] = service.url

    def prepare(self) -> None:
        """Bring database, failures and static files up to date."""
        _say("Preparing the database ...")
        self._supervisor.finish(self._process("prepare", "denpex.prepare"))

    def serve(self) -> None:
        """Start gunicorn, and wait for the first page."""
        gunicorn = self._process(
            *("gunicorn", "gunicorn", "denpex.wsgi:application"),
            # The runner holds the port, so that it stays ours while gunicorn starts again.
            *("--bind", f"fd://{self._listener.fileno()}"),
            *("--workers", "2", "--threads", "4"),
            *("--worker-class", "denpex.gunicorn_worker.Worker"),
            *("--graceful-timeout", "5", "--no-control-socket"),
            # A traceback in the search box is a part of the address. More gunicorn does not take.
            *("--limit-request-line", "8190"),
        )
        self._supervisor.keep(gunicorn)
        self._wait_for_first_page()

    def work(self) -> None:
        """Start a Celery worker and beat; until they are up, jobs wait in the queue."""
        celery = ("celery", "-A", "denpex.celery")
        # Two at least, so that a long log does not hold up the sweep.
        concurrency = max(2, min(4, os.cpu_count() or 2))
        alone = ("--without-gossip", "--without-mingle")  # there is no other worker to talk to
        worker = (*celery, "worker", "--loglevel=INFO", f"--concurrency={concurrency}", *alone)
        beat = (*celery, "beat", "--loglevel=INFO", "--pidfile=")
        self._supervisor.keep(self._process("worker", *worker), self._process("beat", *beat))

    def _wait_for_first_page(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while True:
            self._supervisor.refuse_ended()
            try:
                status = self._status_of_first_page()
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() > deadline:
                    raise UpError(f"the first page does not answer: {error}") from None
                self._supervisor.pause()
                continue
            if status < 400:
                return
            log = self._folder / "logs" / "gunicorn.log"
            raise UpError(f"the first page answers with status {status}; {log} says more.")

    def _status_of_first_page(self) -> int:
        connection = http.client.HTTPConnection(HOST, self._port, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", "/")
            return connection.getresponse().status

    def _process(self, name: str, module: str, *options: str) -> Begin:
        program = Program(
            name,
            (sys.executable, "-m", module, *options),
            self._environment,
            PROJECT,
            pass_files=(self._listener.fileno(),) if module == "gunicorn" else (),
        )
        return functools.partial(program.start, self._folder)


def _environment(folder: Path, variables: Mapping[str, str], port: int) -> dict[str, str]:
    """Return what the processes of the site are told, with what `variables` say instead."""
    defaults = {
        "DENPEX_SECRET_KEY": _secret_key(folder / "secret-key"),
        "DENPEX_CACHE": str(folder / "cache"),
        "DENPEX_HTTPS": "0",
        "DENPEX_ORIGIN": f"http://{HOST}:{port}",
    }
    given = {name: value for name, value in variables.items() if value}
    always = {"DENPEX_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "denpex.settings"}
    return defaults | given | always


def _missing_services(folder: Path, environment: Mapping[str, str]) -> dict[str, Service]:
    """Return the services that no variable names, by the variable that would."""
    wanted = {"DATABASE_URL": postgres_service, "REDIS_URL": valkey_service}
    return {
        variable: prepare(folder)
        for variable, prepare in wanted.items()
        if variable not in environment
    }


# What there may be but one of


class _Claim:
    """The right to run the site from one folder: a lock that the kernel frees with its holder."""

    def __init__(self, path: Path, address: str, stop: Stop) -> None:
        self._file = path.open("a+")
        self._address = address
        self._stop = stop

    def __enter__(self) -> Self:
        # A runner that is just stopping is worth waiting for.
        while not self._taken():
            holder = self._read()
            if not holder.endswith(_STOPPING):
                self._file.close()
                raise UpError(
                    f"Denpex already runs from this folder: {holder}. Stop that one with Ctrl-C, "
                    "or set DENPEX_DATA to another folder for a second one."
                )
            self._stop.pause()
        self._write(f"process {os.getpid()} at {self._address}")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def say_stopping(self) -> None:
        """Tell a runner that is waiting for its turn, and the person at the terminal."""
        _say("Stopping ...")
        self._write(f"process {os.getpid()} at {self._address}, {_STOPPING}")

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _read(self) -> str:
        self._file.seek(0)
        return self._file.read().strip()

    def _write(self, text: str) -> None:
        self._file.truncate(0)
        self._file.write(f"{text}\n")
        self._file.flush()


def _port(variables: Mapping[str, str]) -> int:
    text = variables.get("PORT") or str(DEFAULT_PORT)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise UpError(f"PORT is {text!r}; it must be a number from 1 to 65535.")
    return int(text)


def _bound(port: int) -> socket.socket:
    """Take the port, without listening yet: a browser shall be refused until the site answers."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        reasons = {
            errno.EADDRINUSE: "is taken by another program",
            errno.EACCES: "is not open to this user",
        }
        reason = reasons.get(error.errno or 0, f"cannot be used ({error.strerror})")
        other = DEFAULT_PORT if port != DEFAULT_PORT else DEFAULT_PORT + 1
        raise UpError(f"Port {port} {reason}. Choose another: make run PORT={other}") from None
    return listener


def _secret_key(path: Path) -> str:
    """Return the key of this folder, made at the first time; only its owner may read it."""
    if not path.exists():
        unfinished = path.with_name("secret-key.unfinished")
        unfinished.touch(mode=0o600)
        unfinished.write_text(secrets.token_urlsafe(64))
        unfinished.rename(path)
    return path.read_text()


def _say(text: str) -> None:
    # The site goes on where nobody reads any longer, as below `make run | head`.
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)
