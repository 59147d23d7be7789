"""Hits of signatures made observations: what a signature requires is looked up among the hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnosis.engine.anchors import pattern_of
from diagnosis.engine.log import Line, Log
from diagnosis.engine.tracebacks import Chain
from encyclopedia.catalogue import Failure, Requirement, Signature

__all__ = ["Observation", "capture", "observe"]

# Outside a traceback, an event reaches this far from the line of the hit, in lines of its source.
EVENT_REACH = 20
EVENT_BYTES = 1 << 15


@dataclass(frozen=True, slots=True)
class Observation:
    """A signature seen on a line: the failure it speaks of, its role there, and what it captured.

    `chain` is the index of the chain of tracebacks that the line belongs to, or None.
    """

    failure: str
    signature: str
    role: str
    line: Line
    hit: int
    captures: Mapping[str, str]
    chain: int | None

    @property
    def key(self) -> tuple[int, int]:
        """Order in the log: file, then offset of the line."""
        return self.line.key


def observe(log: Log, chains: Sequence[Chain]) -> list[Observation]:
    """Return the observations of all signatures, in the order of their lines."""
    chain_of = {line.key: index for index, chain in enumerate(chains) for line in chain.lines()}
    found = [
        observation
        for failure in log.compiled.catalogue
        for signature in failure.signatures
        for observation in _observations(log, failure, signature, chains, chain_of)
    ]
    return sorted(found, key=lambda each: (each.key, each.failure, each.signature))


def _observations(
    log: Log,
    failure: Failure,
    signature: Signature,
    chains: Sequence[Chain],
    chain_of: Mapping[tuple[int, int], int],
) -> Iterator[Observation]:
    seen: set[tuple[int, int]] = set()
    for line, end in log.found(signature.pattern):
        if line.key in seen:
            continue
        seen.add(line.key)
        chain = chain_of.get(line.key)
        place = _Place(log, line, None if chain is None else chains[chain])
        if all(place.holds(each) for each in signature.requires) and not any(
            place.holds(each) for each in signature.excludes
        ):
            captured = capture(signature.captures, log.around(line, end))
            yield Observation(
                failure.slug, signature.id, signature.role, line, end, captured, chain
            )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a hit stands, so that "within the event, the source, the log" can be answered."""

    log: Log
    line: Line
    chain: Chain | None

    def holds(self, requirement: Requirement) -> bool:
        """Say whether the requirement's pattern was hit within its reach."""
        lines = self.log.lines_with(requirement.pattern)
        if requirement.within == "log":
            return bool(lines)
        if requirement.within == "source":
            return any(self._same_source(line) for line in lines)
        return any(self._same_event(line) for line in lines)

    def _same_source(self, line: Line) -> bool:
        return line.file == self.line.file and _speaker(line) == _speaker(self.line)

    def _same_event(self, line: Line) -> bool:
        if line.key == self.line.key:
            return True
        if self.chain is not None and any(line.key == each.key for each in self.chain.lines()):
            return True
        return self._same_source(line) and self._near(line)

    def _near(self, line: Line) -> bool:
        first, last = sorted((line, self.line), key=lambda each: each.start)
        if last.start - first.start > EVENT_BYTES:
            return False
        between = self.log.texts[line.file].data.count(b"\n", first.start, last.start)
        return between <= EVENT_REACH


def _speaker(line: Line) -> tuple[object, ...]:
    source = line.facts.source
    return (
        source.rank,
        source.local_rank,
        source.host,
        source.pod,
        source.label,
        source.container,
    )


def capture(pattern: str | None, text: bytes) -> dict[str, str]:
    """Return the named groups of an RE2 `pattern` searched in `text`; {} where it is not found."""
    found = None if pattern is None else pattern_of(pattern).search(text)
    if found is None:
        return {}
    return {name: value.decode("utf-8", "replace") for name, value in found.groups.items()}
