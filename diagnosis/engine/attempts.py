"""Elastic restarts: which attempt of the run a line belongs to.

An agent of torchelastic prints `failed (exitcode: …)` when a worker group ends. Either its own
ChildFailedError follows and all is over, or the workers are started anew
(torch/distributed/elastic/agent/server/api.py, `_invoke_run`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from diagnosis.engine.log import Line, Log
from diagnosis.engine.probes import ending_pattern, probe_pattern
from diagnosis.engine.progress import lines_of_progress

__all__ = ["Attempts", "read_attempts"]

_GROUP_FAILED = ending_pattern("elastic-failed")
_GAVE_UP = probe_pattern("elastic-gave-up")
_TRACEBACK = probe_pattern("traceback")
# What stands among the outer frames of an agent that gives up, and how far they reach.
_AGENT_FRAMES = (b"torch/distributed/run.py", b"torch/distributed/launch")
_FRAMES_BYTES = 2048
# Of so many lines of progress it is asked whose they are.
_MOST_LINES = 512


@dataclass(frozen=True, slots=True)
class Attempts:
    """Where in each file a new attempt begins: the lines on which agents saw the last one fail."""

    starts: Mapping[int, Sequence[Line]]

    def of(self, line: Line) -> int:
        """Return the attempt that a line belongs to, from 0."""
        return bisect_right(self.starts.get(line.file, ()), line.start - 1, key=_START)

    def next_start(self, line: Line) -> Line | None:
        """Return where the attempt after that of `line` begins, or None if it was the last."""
        starts = self.starts.get(line.file, ())
        attempt = self.of(line)
        return starts[attempt] if attempt < len(starts) else None


def read_attempts(log: Log) -> Attempts:
    """Find the restarts in each file; of several agents, the last to notice ends an attempt."""
    gave_up = _by_agent(log.lines_with(_GAVE_UP))
    starts: dict[int, list[Line]] = {}
    for agent, failed in _by_agent(log.lines_with(_GROUP_FAILED)).items():
        restarts = [
            line
            for line, following in zip(failed, (*failed[1:], None), strict=True)
            if not _gives_up(line, following, gave_up.get(agent, ()))
            and (following is not None or _works_on(log, line))
        ]
        for number, line in enumerate(restarts):
            known = starts.setdefault(line.file, [])
            if number == len(known):
                known.append(line)
            elif line.start > known[number].start:
                known[number] = line
    return Attempts(starts)


_Agent = tuple[int, object, object, object]
_START, _KEY = attrgetter("start"), attrgetter("key")


def _by_agent(lines: Sequence[Line]) -> Mapping[_Agent, list[Line]]:
    agents: dict[_Agent, list[Line]] = {}
    for line in lines:
        agents.setdefault(_agent(line), []).append(line)
    return agents


def _agent(line: Line) -> _Agent:
    source = line.facts.source
    return line.file, source.host or source.pod, source.label, source.container


def _works_on(log: Log, line: Line) -> bool:
    """Say whether workers of the agent speak after the line: another traceback, or progress.

    On other nodes the ranks may work, or wait, for long after.
    """
    headers = log.lines_with(_TRACEBACK)
    later = islice(headers, bisect_right(headers, line.key, key=_KEY), None)
    progress = islice(lines_of_progress(log, line), _MOST_LINES)
    agent = _agent(line)
    return any(_agent(each) == agent and not _is_agents(log, each) for each in later) or any(
        _agent(each) == agent for each in progress
    )


def _is_agents(log: Log, header: Line) -> bool:
    """Say whether a traceback is the agent's own, or breaks off before it tells."""
    behind = log.texts[header.file].data[header.end : header.end + _FRAMES_BYTES]
    return not behind.strip() or any(frame in behind for frame in _AGENT_FRAMES)


def _gives_up(line: Line, following: Line | None, gave_up: Sequence[Line]) -> bool:
    """Say whether the agent ends with its ChildFailedError before it starts workers again."""
    place = bisect_right(gave_up, line.start, key=_START)
    if place == len(gave_up):
        return False
    return following is None or gave_up[place].start < following.start
