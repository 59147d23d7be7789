"""Child processes that are surely ended: each in a group of its own, each with a pid file.

A pid file holds the process id and a mark that no later process with the same id can bear (boot
and start time), so that a runner which was killed leaves enough behind for the next one to clean
up, and a recycled process id is never signalled.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

__all__ = [
    "Account",
    "Child",
    "Program",
    "account_named",
    "end_leftovers",
    "is_alive",
    "mark",
    "recorded",
    "user_of",
]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# In /proc/<pid>/stat, counted after the command's closing bracket: proc_pid_stat(5) numbers them
# 3 (state), 5 (process group) and 22 (start time, in clock ticks since boot).
_STATE, _GROUP, _START_TIME = 0, 2, 19
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine that a child runs as."""

    uid: int
    gid: int


def account_named(name: str) -> Account:
    """Look up a user by name; raises KeyError where there is none."""
    entry = pwd.getpwnam(name)
    return Account(entry.pw_uid, entry.pw_gid)


class _User(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def user_of(account: Account | None) -> _User:
    """Return the arguments of `subprocess` that make a process run as `account`."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


@dataclass(frozen=True, slots=True)
class Child:
    """A started process, the leader of its own session and process group."""

    name: str
    process: subprocess.Popen[bytes]
    pid_file: Path
    log: Path
    stop_signal: signal.Signals

    def has_ended(self) -> bool:
        """Tell whether the process is gone, without reaping it: its id stays taken until `end`."""
        if self.process.returncode is not None:
            return True
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, options) is not None

    def ask_to_stop(self) -> None:
        """Send the signal on which the process ends in good order."""
        if not self.has_ended():
            self.process.send_signal(self.stop_signal)

    def end(self, patience: float = 10.0) -> int:
        """End the process and all of its group; returns the exit status.

        After `patience` seconds, or where the leader is gone already, the group is killed.
        """
        self.ask_to_stop()
        _wait(self.has_ended, patience)
        if self.process.returncode is None:
            # Not yet reaped, so the number still belongs to this group.
            _signal_group(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        self.pid_file.unlink(missing_ok=True)
        return status

    def last_lines(self, count: int = 15) -> str:
        """Return the end of what the process wrote, to be shown when it failed."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-count:])


@dataclass(frozen=True, slots=True)
class Program:
    """A command that is ready to be started as a child of this process.

    `account` is the user it runs as (None: this one), `stop_signal` the signal on which it ends in
    good order, `pass_files` the open files it takes over.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    working_folder: Path
    account: Account | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    pass_files: tuple[int, ...] = ()

    def start(self, folder: Path) -> Child:
        """Start it, with its pid in `folder`/run and its output in `folder`/logs.

        The child has a session of its own, so that no terminal signals it, and no standard input.
        Raises OSError where the command cannot be started.
        """
        pid_file = folder / "run" / f"{self.name}.pid"
        log = folder / "logs" / f"{self.name}.log"
        for parent in (pid_file.parent, log.parent):
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - our own commands
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.working_folder,
                env=self.environment,
                start_new_session=True,
                pass_fds=self.pass_files,
                **user_of(self.account),
            )
        child = Child(self.name, process, pid_file, log, self.stop_signal)
        pid_file.write_text(f"{process.pid}\n{mark(process.pid)}\n")
        return child


def mark(pid: int) -> str | None:
    """Return what tells this process from any other with the same id; None where none runs."""
    fields = _stat(pid)
    if fields is None or fields[_STATE] in "ZX":
        return None
    return f"{_BOOT_ID.read_text().strip()}:{fields[_START_TIME]}"


def is_alive(pid: int, expected_mark: str) -> bool:
    """Tell whether the very process that once had this mark still runs."""
    return mark(pid) == expected_mark


def recorded(pid_file: Path) -> tuple[int, str] | None:
    """Return pid and mark of a pid file; None where there is none, or it was never finished."""
    try:
        pid, _, recorded_mark = pid_file.read_text().strip().partition("\n")
    except FileNotFoundError:
        return None
    return (int(pid), recorded_mark) if pid.isdigit() and recorded_mark else None


def end_leftovers(folder: Path, patience: float = 10.0) -> list[str]:
    """End what an earlier, killed runner started from `folder`; returns the names of what it ended.

    A pid file whose process is gone, or whose number now belongs to another process, is removed.
    """
    pid_files = sorted((folder / "run").glob("*.pid"))
    records = {pid_file: recorded(pid_file) for pid_file in pid_files}
    leaders = {file: each for file, each in records.items() if each and is_alive(*each)}
    # Listed while the leaders live: each leftover is known by its own mark from here on.
    leftovers = [each for pid, _ in leaders.values() for each in _group(pid)]
    for pid, _ in leaders.values():
        # The fast shutdown of PostgreSQL; it ends the others too.
        _signal_group(pid, signal.SIGINT)
    _wait(lambda: not any(is_alive(*each) for each in leftovers), patience)
    for each in leftovers:
        if is_alive(*each):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each[0], signal.SIGKILL)
    for pid_file in pid_files:
        pid_file.unlink()
    return [pid_file.stem for pid_file in leaders]


def _group(leader: int) -> list[tuple[int, str]]:
    """Return pid and mark of each process in the group of `leader`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        fields, its_mark = _stat(pid), mark(pid)
        if fields and its_mark and int(fields[_GROUP]) == leader:
            found.append((pid, its_mark))
    return found


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command stands in brackets and may itself hold spaces and brackets.
    return text.rpartition(")")[2].split()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
