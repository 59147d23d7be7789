"""How processes ended, as launchers and shells tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from signal import SIGTERM

from diagnosis.engine.log import Line, Log
from diagnosis.engine.matches import capture
from diagnosis.engine.probes import ENDINGS, Ending, signal_number
from diagnosis.engine.subjects import Subject, Subjects

__all__ = ["ProcessEnd", "pids_accounted_for", "read_ends"]

# 128 + n is how a shell reports signal n (POSIX, Exit Status for Commands).
_SHELL_SIGNAL_BASE = 128
# A carriage return at each line's end makes a blank line; a collector may make another.
_BLANK_LINES = 4


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """What a line says of one process's end.

    `told` says that its own launcher told it to end before it did, `forced` that the launcher then
    killed it; neither is a failure of that process. `of_agent` says that it is the task in which an
    agent ran that started the ranks of a node.
    """

    subject: Subject
    exitcode: int | None
    signal: int | None
    line: Line
    told: bool = False
    forced: bool = False
    of_agent: bool = False

    @property
    def is_failure(self) -> bool:
        """Say whether the process ended badly of itself."""
        if self.forced or self.signal == SIGTERM:
            return False
        return self.signal is not None or self.exitcode not in (None, 0)


def read_ends(log: Log, subjects: Subjects) -> list[ProcessEnd]:
    """Return the ends of processes in the order of the lines that tell them."""
    told: dict[int, Line] = {}
    forced: set[int] = set()
    ends: list[ProcessEnd] = []
    for ending in ENDINGS:
        for line, captures in _lines(log, ending):
            pid = int(captures["pid"]) if "pid" in captures else None
            if ending.kind == "exit":
                ends.append(_end(line, captures, subjects))
            elif ending.kind == "forced" and pid is not None:
                forced.add(pid)
            elif pid is not None:
                told.setdefault(pid, line)
    marked = (
        replace(end, told=end.subject.pid in told, forced=end.subject.pid in forced) for end in ends
    )
    return sorted(marked, key=lambda end: end.line.key)


def pids_accounted_for(log: Log) -> frozenset[int]:
    """Return the processes that a launcher saw end, or told to end: it knew that they lived."""
    return frozenset(
        int(captures["pid"])
        for ending in ENDINGS
        for _line, captures in _lines(log, ending)
        if captures.get("pid")
    )


def _lines(log: Log, ending: Ending) -> Iterator[tuple[Line, Mapping[str, str]]]:
    for line in log.lines_with(ending.pattern):
        captures = capture(ending.captures, log.around(line, line.hit))
        if captures and ending.above is not None:
            above = capture(ending.above, _text_above(log, line))
            captures = captures | above if above else {}
        if captures:
            yield line, captures


def _text_above(log: Log, line: Line) -> bytes:
    """Return the message of the nearest line above that is not blank."""
    for _ in range(_BLANK_LINES):
        if line.start == 0:
            break
        line = log.line_at(line.file, line.start - 1)
        if line.facts.message.strip():
            return line.facts.message
    return b""


def _end(line: Line, captures: Mapping[str, str], subjects: Subjects) -> ProcessEnd:
    exitcode = int(captures["exitcode"]) if "exitcode" in captures else None
    signal = signal_number(captures.get("signal") or captures.get("words") or "")
    if signal is None and exitcode is not None:
        signal = _signal_of_exit_code(exitcode)
    of_agent = "task" in captures and subjects.tasks_are_agents
    subject = subjects.of_captures(captures, line)
    return ProcessEnd(subject, exitcode, signal, line, of_agent=of_agent)


def _signal_of_exit_code(exitcode: int) -> int | None:
    """Return the signal behind an exit code: -9 as Python gives it, 137 as a shell does."""
    if exitcode < 0:
        return -exitcode
    if _SHELL_SIGNAL_BASE < exitcode <= _SHELL_SIGNAL_BASE + 64:
        return exitcode - _SHELL_SIGNAL_BASE
    return None
