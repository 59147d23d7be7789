"""How far the clocks of the hosts run apart, told by steps that all ranks take together."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from diagnosis.engine.log import Line, Log
from diagnosis.engine.patterns import BytePattern
from diagnosis.engine.subjects import Subjects

__all__ = ["Skew", "read_skew"]

# A step of training, with its number: ranks that exchange gradients take it at one moment.
_STEP = BytePattern(r"(?i:\b(?:step|iter|iteration)[ \t]*[:=#]?[ \t]*\[?[ \t]*(?P<step>\d{1,9})\b)")
# What is read of each file, at either end, and how many steps two hosts must share.
_SAMPLE_BYTES = 1 << 16
_FEWEST_STEPS = 3


@dataclass(frozen=True, slots=True)
class Skew:
    """Seconds by which the clock of each host runs ahead of the first host's.

    `offsets` has only hosts that share steps with the first; `hosts` are all that print stamps.
    """

    offsets: Mapping[str, float]
    hosts: tuple[str, ...]

    def corrected(self, host: str | None, seconds: float) -> float:
        """Return a stamp of a host on the clock of the first host, as well as that is known."""
        return seconds - self.offsets.get(host or "", 0.0)

    @property
    def known(self) -> bool:
        """Say whether the stamps of all hosts can be compared."""
        return len(self.hosts) < 2 or len(self.offsets) == len(self.hosts)


def read_skew(log: Log, subjects: Subjects) -> Skew:
    """Estimate the clocks' offsets from equal step numbers: the median of their differences."""
    if len(log.texts) < 2 and not subjects.on_several_hosts:
        return Skew({}, ())
    steps: dict[str, dict[int, float]] = {}
    for host, step, seconds in _steps(log, subjects):
        steps.setdefault(host, {}).setdefault(step, seconds)
    hosts = tuple(sorted(steps))
    if len(hosts) < 2:
        return Skew({}, hosts)
    first = steps[hosts[0]]
    offsets = {hosts[0]: 0.0}
    for host in hosts[1:]:
        shared = [steps[host][step] - first[step] for step in steps[host].keys() & first.keys()]
        if len(shared) >= _FEWEST_STEPS:
            offsets[host] = statistics.median(shared)
    return Skew(offsets, hosts)


def _steps(log: Log, subjects: Subjects) -> Iterator[tuple[str, int, float]]:
    for line, step in _sampled(log):
        seconds = line.facts.time
        host = subjects.of_line(line).host or (log.name(line) if len(log.texts) > 1 else None)
        if seconds is not None and host is not None:
            yield host, step, seconds


def _sampled(log: Log) -> Iterator[tuple[Line, int]]:
    for number, text in enumerate(log.texts):
        size = len(text.data)
        for start in sorted({0, max(0, size - _SAMPLE_BYTES)}):
            yield from _found(log, number, text.data[start : start + _SAMPLE_BYTES], start)


def _found(log: Log, number: int, sample: bytes, start: int) -> Iterator[tuple[Line, int]]:
    offset = 0
    while (found := _STEP.search(sample, offset)) is not None:
        line = log.line_at(number, start + found.start)
        yield line, int(found.groups["step"])
        offset = max(line.end - start, found.end)
