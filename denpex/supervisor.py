"""Keeps the children of one foreground process running, and ends them all with it."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Self

from denpex.processes import Child

__all__ = ["Begin", "ChildFailedError", "Stop", "StopRequested", "Supervisor", "move_logs_aside"]

# A child that ends is started again; one that ends this often within a minute ends them all.
ENDS_A_MINUTE = 5
RESTART_PAUSE_SECONDS = 1.0
POLL_SECONDS = 0.1

Begin = Callable[[], Child]


class ChildFailedError(RuntimeError):
    """A child that cannot do its work; the message names it and shows the end of its log."""


class StopRequested(Exception):  # noqa: N818 - a request, not an error
    """Raised at a safe point after Ctrl-C, SIGTERM or a hang-up."""


class Stop:
    """Whether this process was told to stop: by a signal, or by the end of its parent.

    A signal only leaves a note, since an exception out of a signal handler could lose a child that
    is just being started.
    """

    def __init__(self, *, with_parent: bool = False) -> None:
        self._parent = os.getppid() if with_parent else None
        self._told = False

    def listen(self) -> None:
        """Take over the signals by which a person or a system ends this process."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Below nohup a process outlives its terminal.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._tell)
        # Were this ignored, as some parents leave it, no child could be waited for.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def check(self) -> None:
        """Raise StopRequested where it is time to stop."""
        if self._told or (self._parent is not None and os.getppid() != self._parent):
            raise StopRequested

    def pause(self) -> None:
        """Wait a moment; raises StopRequested where it is time to stop."""
        self.check()
        time.sleep(POLL_SECONDS)

    def _tell(self, _number: int, _frame: object) -> None:
        self._told = True


@dataclass(slots=True)
class _Kept:
    begin: Begin
    child: Child
    ends: deque[float] = field(default_factory=lambda: deque(maxlen=ENDS_A_MINUTE))

    def ends_too_often(self) -> bool:
        self.ends.append(time.monotonic())
        return len(self.ends) == ENDS_A_MINUTE and self.ends[-1] - self.ends[0] < 60


class Supervisor:
    """The children of this process; when the block is left, none of them is.

    They are ended in the reverse order of their layers: what is kept first is needed by what is
    kept later.
    """

    def __init__(self, stop: Stop, say: Callable[[str], None], patience: float) -> None:
        self._stop = stop
        self._say = say
        self._patience = patience
        self._layers: list[list[_Kept]] = []
        self._passing: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._passing:
            child.end(self._patience)
        for layer in reversed(self._layers):
            for kept in layer:
                kept.child.ask_to_stop()
            for kept in layer:
                kept.child.end(self._patience)

    def keep(self, *begins: Begin) -> list[Child]:
        """Start a layer of children that are started again whenever one ends."""
        layer: list[_Kept] = []
        self._layers.append(layer)
        for begin in begins:
            self._stop.check()
            layer.append(_Kept(begin, begin()))
        return [kept.child for kept in layer]

    def finish(self, *begins: Begin) -> None:
        """Run children side by side to their end; raises ChildFailedError where one fails."""
        for begin in begins:
            self._stop.check()
            self._passing.append(begin())
        while not all(child.has_ended() for child in self._passing):
            self.pause()
        while self._passing:
            child = self._passing.pop()
            if child.end() != 0:
                raise _failed(child, "failed")

    def refuse_ended(self) -> None:
        """Raise ChildFailedError where a child ended that should run, without starting it again."""
        for kept in self._all():
            if kept.child.has_ended():
                raise _failed(kept.child, f"{_how(kept.child.end())} while the site was starting")

    def watch(self) -> NoReturn:
        """Start again what ends, for as long as that helps; returns by an exception alone."""
        while True:
            for kept in self._all():
                if kept.child.has_ended():
                    self._start_again(kept)
            self.pause()

    def pause(self) -> None:
        """Wait a moment; raises StopRequested where it is time to stop."""
        self._stop.pause()

    def _all(self) -> list[_Kept]:
        return [kept for layer in self._layers for kept in layer]

    def _start_again(self, kept: _Kept) -> None:
        how = _how(kept.child.end())
        if kept.ends_too_often():
            raise _failed(kept.child, f"{how}, for the {ENDS_A_MINUTE}th time within a minute")
        self._say(f"{kept.child.name} {how}; starting it again.")
        deadline = time.monotonic() + RESTART_PAUSE_SECONDS
        while time.monotonic() < deadline:
            self.pause()
        kept.child = kept.begin()


def _how(status: int) -> str:
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _failed(child: Child, how: str) -> ChildFailedError:
    return ChildFailedError(f"{child.name} {how}. The end of its log:\n{child.last_lines()}")


def move_logs_aside(folder: Path) -> None:
    """Keep the logs of the last run, and only those, beside the new ones."""
    for log in folder.glob("*.log"):
        log.rename(log.with_suffix(".log.1"))
