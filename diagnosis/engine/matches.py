"""Hits of signatures made observations: what a signature requires is looked up among the hits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import attrgetter

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
    surroundings = _Surroundings(log, chains)
    found = [
        observation
        for failure in log.compiled.catalogue
        for signature in failure.signatures
        for observation in _observations(log, failure, signature, surroundings, chain_of)
    ]
    return sorted(found, key=lambda each: (each.key, each.failure, each.signature))


def _observations(
    log: Log,
    failure: Failure,
    signature: Signature,
    surroundings: _Surroundings,
    chain_of: Mapping[tuple[int, int], int],
) -> Iterator[Observation]:
    seen: set[tuple[int, int]] = set()
    for line, end in log.found(signature.pattern):
        if line.key in seen:
            continue
        seen.add(line.key)
        chain = chain_of.get(line.key)
        if all(surroundings.hold(each, line, chain) for each in signature.requires) and not any(
            surroundings.hold(each, line, chain) for each in signature.excludes
        ):
            captured = capture(signature.captures, log.around(line, end))
            yield Observation(
                failure.slug, signature.id, signature.role, line, end, captured, chain
            )


class _Surroundings:
    """What stands around hits: answers "within the event, the source, the log" by look-up."""

    def __init__(self, log: Log, chains: Sequence[Chain]) -> None:
        self._log = log
        self._chains = chains
        self._keys: dict[str, AbstractSet[tuple[int, int]]] = {}
        self._speakers: dict[str, AbstractSet[tuple[object, ...]]] = {}
        self._chains_with: dict[tuple[str, int], bool] = {}

    def hold(self, requirement: Requirement, line: Line, chain: int | None) -> bool:
        """Say whether the requirement's pattern was hit within its reach of `line`.

        `chain` is the index of the chain of tracebacks that the line belongs to.
        """
        pattern = requirement.pattern
        lines = self._log.lines_with(pattern)
        if not lines or requirement.within == "log":
            return bool(lines)
        if requirement.within == "source":
            return _speaker(line) in self._speakers_of(pattern)
        return (
            line.key in self._keys_of(pattern)
            or (chain is not None and self._chain_has(pattern, chain))
            or any(_speaker(each) == _speaker(line) for each in self._near(lines, line))
        )

    def _keys_of(self, pattern: str) -> AbstractSet[tuple[int, int]]:
        if pattern not in self._keys:
            self._keys[pattern] = {each.key for each in self._log.lines_with(pattern)}
        return self._keys[pattern]

    def _speakers_of(self, pattern: str) -> AbstractSet[tuple[object, ...]]:
        if pattern not in self._speakers:
            lines = self._log.lines_with(pattern)
            self._speakers[pattern] = {_speaker(each) for each in lines}
        return self._speakers[pattern]

    def _chain_has(self, pattern: str, chain: int) -> bool:
        asked = pattern, chain
        if asked not in self._chains_with:
            keys = self._keys_of(pattern)
            self._chains_with[asked] = any(each.key in keys for each in self._chains[chain].lines())
        return self._chains_with[asked]

    def _near(self, lines: Sequence[Line], line: Line) -> Iterator[Line]:
        """Yield those of `lines` that stand so few lines from `line` that one event holds both."""
        place = bisect_left(lines, line.key, key=_KEY)
        data = self._log.texts[line.file].data
        for each in lines[max(0, place - EVENT_REACH) : place + EVENT_REACH]:
            first, last = sorted((each.start, line.start))
            if (
                each.file == line.file
                and last - first <= EVENT_BYTES
                and data.count(b"\n", first, last) <= EVENT_REACH
            ):
                yield each


_KEY = attrgetter("key")


def _speaker(line: Line) -> tuple[object, ...]:
    source = line.facts.source
    return (
        line.file,
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
