"""Lines that say who is who, read one by one: whose facts they are, and what the run is made of.

The lines are data (`envelopes/_identities.yaml`): launchers' reports, greetings of frameworks,
commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from diagnosis.engine.patterns import BytePattern
from diagnosis.engine.sources import SOURCE_FIELDS, Source, merge, source_of_groups

if TYPE_CHECKING:
    from diagnosis.engine.log import Line, Log

__all__ = [
    "ABOUT",
    "CAPTURES",
    "COUNTS",
    "CaptureReader",
    "Count",
    "IdentityPattern",
    "Sighting",
    "read_sightings",
]

# Whose facts a line tells: those of the process that prints it, of one on its node, of one
# anywhere, or of the whole run.
ABOUT = ("speaker", "neighbour", "other", "world")
# What is counted: ranks, ranks on a node, nodes, tasks of a launcher, ranks in a group, and the
# other ranks in it.
COUNTS = frozenset(("world_size", "local_world_size", "nodes", "tasks", "group_size", "peers"))
# `ranks` is a list with commas; `agent` says by its presence that a launcher's agent prints.
CAPTURES = SOURCE_FIELDS | COUNTS | {"ranks", "agent"}

# What stands before a rank's own lines. Any line of a rank will do to see what else is told there
# (its pod, its host, its label), so that of a large log only windows are searched: its head, its
# tail, where the errors are, and samples between.
_MARKS = (b"[rank", b"[Rank ", b"[RANK ", b"]<stdout>:", b"]<stderr>:")
_END_BYTES = 1 << 18
_WINDOWS = 64
_WINDOW_BYTES = 8192
_MARK_BYTES = 10
_LONGEST_RANK = 7


@dataclass(frozen=True, slots=True)
class IdentityPattern:
    """A line that says who is who: `pattern` finds it in the scan, `captures` (RE2) read it.

    The named groups are among CAPTURES; `about` is one of ABOUT. A line with `excludes` (RE2) says
    something else. Lines of one `block` are fields of one record, in order. `implies` are COUNTS
    that hold wherever the line is found.
    """

    name: str
    pattern: str
    captures: tuple[str, ...]
    about: str
    excludes: str | None = None
    block: str | None = None
    implies: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a line, or a record of several, says of one process; `line` is its first line.

    `group_size` is the size of the group in which `source.group_rank` counts. `agent` says that
    the process is a launcher's agent, not a rank. `here` says that the process runs where the line
    was printed.
    """

    source: Source
    line: Line
    group_size: int | None = None
    agent: bool = False
    here: bool = True


class Count(NamedTuple):
    """A count of the run (one of COUNTS), and the line that says it."""

    name: str
    value: int
    line: Line


class _Record(NamedTuple):
    """The captures of one line, or of the lines of one block."""

    about: str
    line: Line
    captures: dict[str, bytes]


def read_sightings(log: Log) -> tuple[list[Sighting], list[Count]]:
    """Return what the matched lines of a log say of processes, and what they count, in order."""
    records = list(_joined(_records(log)))
    sightings = [Sighting(line.facts.source, line) for line in _marked_lines(log)]
    counts: list[Count] = []
    for record in records:
        counts.extend(_counts(record))
        sightings.extend(_sightings(record))
    return sorted(sightings, key=_order), counts


def _order(sighting: Sighting) -> tuple[int, int]:
    return sighting.line.key


class CaptureReader:
    """Reads the captures of one identity pattern."""

    __slots__ = ("_captures", "_excludes", "_implied")

    def __init__(self, entry: IdentityPattern) -> None:
        self._captures = [BytePattern(capture) for capture in entry.captures]
        self._excludes = BytePattern(entry.excludes) if entry.excludes else None
        self._implied = {name: str(count).encode() for name, count in entry.implies}

    def read(self, line: bytes) -> dict[str, bytes] | None:
        """Return what a line that the pattern hit says; None where it is excluded."""
        if self._excludes is not None and self._excludes.search(line) is not None:
            return None
        groups = dict(self._implied)
        for capture in self._captures:
            found = capture.search(line)
            if found is not None:
                groups |= found.groups
        return groups


def _records(log: Log) -> list[tuple[IdentityPattern, _Record]]:
    """Read each matched line by the captures of its pattern; all in the order of the log."""
    records: list[tuple[IdentityPattern, _Record]] = []
    for entry in log.compiled.envelopes.identities:
        reader: CaptureReader | None = None
        for line in log.lines_with(entry.pattern):
            reader = reader or CaptureReader(entry)
            captures = reader.read(log.around(line, line.hit))
            if captures is not None:
                records.append((entry, _Record(entry.about, line, captures)))
    return sorted(records, key=_place_of)


def _place_of(pair: tuple[IdentityPattern, _Record]) -> tuple[int, int]:
    return pair[1].line.key


def _joined(records: Iterable[tuple[IdentityPattern, _Record]]) -> Iterator[_Record]:
    """Yield the records, those of one block made one: a field that comes again begins the next."""
    open_blocks: dict[tuple[object, ...], _Record] = {}
    for entry, record in records:
        if entry.block is None:
            yield record
            continue
        key = (entry.block, record.line.file, record.line.speaker)
        begun = open_blocks.get(key)
        if begun is not None and not begun.captures.keys() & record.captures.keys():
            begun.captures.update(record.captures)
            continue
        if begun is not None:
            yield begun
        open_blocks[key] = record
    yield from open_blocks.values()


def _counts(record: _Record) -> Iterator[Count]:
    for name, value in record.captures.items():
        if name in COUNTS and value.isdigit():
            yield Count(name, int(value), record.line)


def _sightings(record: _Record) -> Iterator[Sighting]:
    line = record.line
    told = source_of_groups(record.captures)
    for rank in record.captures.get("ranks", b"").split(b","):
        if rank.strip().isdigit() and len(rank) <= _LONGEST_RANK:
            yield Sighting(Source(rank=int(rank)), line, here=False)
    if record.about == "speaker":
        source = merge(line.facts.source, told)
        yield Sighting(source, line, _group_size(record.captures), "agent" in record.captures)
    elif record.about == "neighbour":
        yield Sighting(merge(_node_of(line.facts.source), told), line)
    elif record.about == "other":
        yield Sighting(told, line, here=False)


def _group_size(captures: Mapping[str, bytes]) -> int | None:
    if "peers" in captures:
        return int(captures["peers"]) + 1
    return int(captures["group_size"]) if "group_size" in captures else None


def _node_of(source: Source) -> Source:
    """Return where a process runs, without who it is."""
    return Source(
        host=source.host,
        pod=source.pod,
        container=source.container,
        label=source.label,
        node_rank=source.node_rank,
    )


def _marked_lines(log: Log) -> Iterator[Line]:
    """Yield a line of each rank that marks its lines, as far as the windows show it."""
    for number, text in enumerate(log.texts):
        seen: set[tuple[bytes, bytes]] = set()
        for start, end in _windows(len(text.data)):
            for mark in _MARKS:
                position = text.data.find(mark, start, end)
                while position >= 0:
                    around = text.data[max(0, position - _MARK_BYTES) : position + _MARK_BYTES]
                    key = (mark, _number_in(around, mark))
                    if key not in seen:
                        seen.add(key)
                        yield log.line_at(number, position)
                    position = text.data.find(mark, position + 1, end)


def _windows(size: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that are searched; all of it where it is not large."""
    if size <= 2 * _END_BYTES:
        yield 0, size
        return
    yield 0, _END_BYTES
    step = (size - 2 * _END_BYTES) // _WINDOWS
    for start in range(_END_BYTES, size - _END_BYTES, max(step, _WINDOW_BYTES)):
        yield start, start + _WINDOW_BYTES
    yield size - _END_BYTES, size


def _number_in(around: bytes, mark: bytes) -> bytes:
    """Return the rank beside a mark, as it is written: behind `[rank`, before `]<stdout>:`."""
    if mark[:1] == b"[":
        return around[around.rfind(mark) + len(mark) :].split(b"]")[0]
    return around[: around.rfind(mark[:2])].rpartition(b",")[2]
