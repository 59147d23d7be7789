"""Who printed a line: rank, host, pod, pid and time, read from the prefixes in front of it.

Launchers, log collectors and loggers each put an envelope around a line, and envelopes nest: a pod,
a local rank, a stamp, a level, then the message. Each kind is an entry of a data file under
`envelopes/` (`envelope_files` reads and checks them); this module peels them off one by one. Text
is bytes throughout, and patterns run in RE2, so a line costs linear time whatever stands in it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import re2

from diagnosis.engine.stamps import (
    Stamp,
    StampReader,
    TimeFormat,
    bytes_options,
    compile_bytes,
    group_numbers,
)

__all__ = [
    "SEVERITIES",
    "Envelope",
    "Envelopes",
    "JsonKeys",
    "LineFacts",
    "PathPattern",
    "Source",
    "default_envelopes",
    "NOBODY",
    "merge",
    "parse_line",
    "prefix_of",
    "source_of_path",
]

SEVERITIES = ("debug", "info", "warning", "error", "fatal")

# A taller stack of prefixes has not been seen; a line that looks like one is hostile.
_TALLEST_STACK = 12
# Prefixes are short; what goes on for longer is text.
_LONGEST_PREFIX = 512
# A JSON object on one line may be as long as the message in it.
_LONGEST_JSON = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """Who printed a line; a field is None where that is not told.

    `rank` is the global rank; `local_rank` counts within a node; `device` is the index of a GPU on
    its node; `group_rank` counts within a group of ranks (a process group, a tensor-parallel
    group) and is the global rank only where the group is the world. `label` is what a launcher put
    in front of the line and what means this or that by the way of the launch: under `srun --label`
    the task, which is the rank where each task is a rank, and the node where each task is a
    torchrun. `role` is the kind of process: worker, agent, launcher, kernel, kubelet, slurmstepd,
    or the program's name.
    """

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pod: str | None = None
    pid: int | None = None
    attempt: int | None = None
    node_rank: int | None = None
    role: str | None = None
    device: int | None = None
    group_rank: int | None = None
    container: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class LineFacts:
    """What the envelopes of one line tell.

    `stamps` are all its time stamps, outermost first. `time` (seconds), `time_text`, `zone_known`
    and `clock` (one of `stamps.CLOCKS`) repeat the outermost dated one, since a collector stamps
    every line and a logger only its own; where none is dated, the outermost. `message` is what is
    left when all envelopes are off; `message_offset` is where it begins in the line as given
    (where the message is an escaped JSON string: counted as if it had no escapes).
    """

    source: Source
    time: float | None
    time_text: str | None
    zone_known: bool
    clock: str | None
    severity: str | None
    message: bytes
    message_offset: int
    stamps: tuple[Stamp, ...] = ()


@dataclass(frozen=True, slots=True)
class JsonKeys:
    """Where a line that is one JSON object keeps its facts: pairs of a field and its keys.

    The first key present counts; a dot leads into a nested object. Fields are those of `Source`,
    and message, time and severity.
    """

    keys: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Envelope:
    """One kind of prefix.

    `pattern` (RE2) is matched at the front of what is left of the line. Its named groups are fields
    of `Source`, or `time` (read by the format named `time_format`), `severity`, `prefix` (the
    literal by which all lines of this source can be found) and `rest` (the end of the match that is
    looked at only and stays in the line). `sets` are fields told by its mere presence. One
    that `follows_time` is tried only directly after an envelope that told a time. `json` says that
    the line is a JSON object, to be read by these keys.
    """

    name: str
    family: str
    pattern: str
    sets: tuple[tuple[str, str], ...] = ()
    time_format: str | None = None
    follows_time: bool = False
    json: JsonKeys | None = None


@dataclass(frozen=True, slots=True)
class PathPattern:
    """How a path tells its source: an RE2 pattern searched in it; groups are fields of `Source`."""

    name: str
    pattern: str
    sets: tuple[tuple[str, str], ...] = ()


NOBODY = Source()
SOURCE_FIELDS = frozenset(entry.name for entry in dataclasses.fields(Source))
# The groups a pattern may name.
PATTERN_GROUPS = SOURCE_FIELDS | {"time", "severity", "prefix", "rest"}
_INTEGER_FIELDS = frozenset(
    ("rank", "local_rank", "pid", "attempt", "node_rank", "device", "group_rank")
)
_SEVERITY_WORDS: Mapping[str, str] = {
    word: severity
    for severity, words in {
        "debug": "d t v debug trace verbose",
        "info": "i n info notice normal success succ progress",
        "warning": "w warn warning",
        "error": "e err error",
        "fatal": "f c fatal critical crit alert emerg panic",
    }.items()
    for word in words.split()
}


@dataclass(frozen=True, slots=True)
class _Layer:
    """One envelope as found; `start` and `end` are offsets in the line, `end` is its own.

    `prefix` is the stable literal in it, if any, and whether it begins the envelope.
    """

    envelope: Envelope
    start: int
    end: int
    groups: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class _Peeled:
    """A line without its envelopes: the rest of `text` from `offset` on is the message.

    `origin` is where `text` begins in the line: 0, or within a JSON object.
    """

    layers: tuple[_Layer, ...]
    text: bytes
    offset: int
    origin: int


class _Finder:
    """The compiled form of envelopes: which of them stands at the front of a text."""

    __slots__ = ("_compiled", "_envelopes", "_sets")

    def __init__(self, envelopes: Sequence[Envelope]) -> None:
        self._envelopes = envelopes
        self._compiled: dict[int, tuple[Any, tuple[tuple[str, int], ...]]] = {}
        anywhere = [(index, entry.pattern) for index, entry in enumerate(envelopes)]
        front = [pair for pair in anywhere if not envelopes[pair[0]].follows_time]
        self._sets = {False: _PatternSet(front), True: _PatternSet(anywhere)}

    def find(self, text: bytes, offset: int, *, after_time: bool) -> _Layer | None:
        """Return the most specific envelope at `offset`, or None."""
        head = text[offset : offset + _LONGEST_PREFIX]
        for index in self._sets[after_time].matches(head):
            layer = self._layer(index, head, offset)
            if layer is not None:
                return layer
        return None

    def _layer(self, index: int, head: bytes, offset: int) -> _Layer | None:
        compiled = self._compiled.get(index)
        if compiled is None:
            pattern = compile_bytes(self._envelopes[index].pattern)
            compiled = self._compiled[index] = (pattern, group_numbers(pattern))
        pattern, names = compiled
        match = pattern.match(head)
        if match is None:
            return None
        groups = {
            name: value for name, number in names if (value := match.group(number)) is not None
        }
        end = match.end() - len(groups.get("rest", b""))
        return _Layer(self._envelopes[index], offset, offset + end, groups)


class _PatternSet:
    """Patterns tried all at once; hits come in the order in which they were given."""

    __slots__ = ("_indexes", "_set")

    def __init__(self, patterns: Sequence[tuple[int, str]]) -> None:
        self._indexes = [index for index, _ in patterns]
        self._set = re2.Set.MatchSet(bytes_options())
        for _, pattern in patterns:
            self._set.Add(pattern.encode())
        self._set.Compile()

    def matches(self, head: bytes) -> list[int]:
        return [self._indexes[found] for found in sorted(self._set.Match(head) or ())]


@dataclass(frozen=True)
class Envelopes:
    """All that tells sources, as plain data that pickles; patterns are compiled on first use.

    `envelopes` stand in the order in which they are tried, most specific first.
    """

    envelopes: tuple[Envelope, ...]
    times: tuple[TimeFormat, ...]
    paths: tuple[PathPattern, ...]

    def __getstate__(self) -> dict[str, Any]:
        """Return the data alone, without what was compiled from it."""
        return {entry.name: getattr(self, entry.name) for entry in dataclasses.fields(self)}

    @functools.cached_property
    def _finder(self) -> _Finder:
        return _Finder(self.envelopes)

    @functools.cached_property
    def _stamp_readers(self) -> Mapping[str, StampReader]:
        return {entry.name: StampReader(entry) for entry in self.times}

    @functools.cached_property
    def _path_patterns(self) -> Sequence[tuple[PathPattern, Any]]:
        return [(entry, compile_bytes(entry.pattern)) for entry in self.paths]

    def parse(self, line: bytes, inherited: Source = NOBODY, year: int | None = None) -> LineFacts:
        """Return who printed `line`, when, how badly, and the bare message.

        `inherited` is what is known from elsewhere (the file's name); what the line itself tells
        goes before it. `year` is for stamps that name none. Any bytes give an answer.
        """
        text, cuts = without_escapes(line)
        peeled = self._peel(text)
        told: dict[str, Any] = {}
        stamps: list[Stamp] = []
        severity: str | None = None
        for layer in peeled.layers:
            told.update(_source_fields(layer))
            severity = _severity(layer) or severity
            stamp = self._stamp(layer, year)
            if stamp is not None:
                stamps.append(stamp)
        time = _telling(stamps)
        return LineFacts(
            source=_with(inherited, told),
            time=time.seconds if time else None,
            time_text=time.text if time else None,
            zone_known=time.zone_known if time else False,
            clock=time.clock if time else None,
            severity=severity,
            message=peeled.text[peeled.offset :],
            message_offset=_in_line(peeled.origin + peeled.offset, cuts),
            stamps=tuple(stamps),
        )

    def prefix_of(self, line: bytes) -> bytes | None:
        """Return the literal by which `bytes.find` finds other lines of the same source, or None.

        That is the whole front of the line where it is stable (`[default5]:[rank5]:`); behind a
        stamp, which is not, the literal that names the global rank (`[rank2]:`).
        """
        text, _ = without_escapes(line)
        front_end = 0
        ranked: bytes | None = None
        for layer in self._peel(text).layers:
            literal = layer.groups.get("prefix")
            if literal is None:
                continue
            if layer.start == front_end and text.startswith(literal, layer.start):
                front_end = layer.start + len(literal)
            elif "rank" in layer.groups:
                ranked = literal
        return ranked or text[:front_end] or None

    def source_of_path(self, name: str) -> Source:
        """Return what a file's name or path tells of who wrote it."""
        told: dict[str, Any] = {}
        path = name.encode("utf-8", "surrogateescape")
        for entry, pattern in self._path_patterns:
            match = pattern.search(path)
            if match is None:
                continue
            told |= dict(entry.sets)
            for group, number in group_numbers(pattern):
                if (value := match.group(number)) is not None:
                    told.setdefault(group, _field_value(group, value))
        return _with(NOBODY, told)

    def _peel(self, text: bytes) -> _Peeled:
        layers: list[_Layer] = []
        offset = origin = 0
        after_time = False
        while len(layers) < _TALLEST_STACK:
            layer = self._finder.find(text, offset, after_time=after_time)
            if layer is None:
                break
            if layer.envelope.json is not None:
                opened = _open_json(layer.envelope.json, text, offset)
                if opened is None:
                    break
                groups, message, at = opened
                layers.append(dataclasses.replace(layer, groups=groups))
                text, offset, origin = message, 0, origin + at
                after_time = "time" in groups
                continue
            layers.append(layer)
            if layer.end == offset:
                break
            offset = layer.end
            after_time = "time" in layer.groups
        return _Peeled(tuple(layers), text, offset, origin)

    def _stamp(self, layer: _Layer, year: int | None) -> Stamp | None:
        text = layer.groups.get("time")
        if text is None:
            return None
        if layer.envelope.time_format is not None:
            return self._stamp_readers[layer.envelope.time_format].read(text, year)
        stamps = (reader.read(text, year) for reader in self._stamp_readers.values())
        return next((stamp for stamp in stamps if stamp is not None), None)


def merge(outer: Source, inner: Source) -> Source:
    """Return one source of two: what the inner envelope tells goes before the outer one's."""
    told = {name: value for name in SOURCE_FIELDS if (value := getattr(inner, name)) is not None}
    return _with(outer, told)


@functools.cache
def default_envelopes() -> Envelopes:
    """Return the envelopes that ship with the engine, read once."""
    from diagnosis.engine.envelope_files import load_envelopes  # noqa: PLC0415 - it imports us

    return load_envelopes()


def parse_line(line: bytes, inherited: Source = NOBODY, year: int | None = None) -> LineFacts:
    """Return the facts of one line, read with the envelopes that ship (see `Envelopes.parse`)."""
    return default_envelopes().parse(line, inherited, year)


def prefix_of(line: bytes) -> bytes | None:
    """Return the literal that finds the other lines of this source (see `Envelopes.prefix_of`)."""
    return default_envelopes().prefix_of(line)


def source_of_path(name: str) -> Source:
    """Return what a file's name or path tells of who wrote it."""
    return default_envelopes().source_of_path(name)


def _source_fields(layer: _Layer) -> dict[str, Any]:
    told: dict[str, Any] = dict(layer.envelope.sets)
    for name, value in layer.groups.items():
        if name in SOURCE_FIELDS and value:
            told[name] = _field_value(name, value)
    return told


def _field_value(name: str, value: bytes) -> int | str:
    return int(value) if name in _INTEGER_FIELDS else value.decode("utf-8", "replace")


def _severity(layer: _Layer) -> str | None:
    word = layer.groups.get("severity")
    if word is None:
        return None
    return _SEVERITY_WORDS.get(word.decode("ascii", "replace").lower())


def _telling(stamps: Sequence[Stamp]) -> Stamp | None:
    dated = (stamp for stamp in stamps if stamp.clock in ("date", "date_without_year"))
    return next(dated, stamps[0] if stamps else None)


def _with(source: Source, told: Mapping[str, Any]) -> Source:
    if not told:
        return source
    if source is NOBODY:
        return Source(**told)
    return dataclasses.replace(source, **told)


def _open_json(
    keys: JsonKeys, text: bytes, offset: int
) -> tuple[dict[str, bytes], bytes, int] | None:
    """Return fields, message and the message's offset of a line that is a JSON object."""
    try:
        record = json.loads(text[offset : offset + _LONGEST_JSON])
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    groups: dict[str, bytes] = {}
    message, at = b"", len(text)
    for field, names in keys.keys:
        for name in names:
            value = _nested(record, name)
            if value is None:
                continue
            plain = _plain(value)
            if field == "message":
                message = plain.rstrip(b"\r\n")
                at = _string_start(text, name, offset)
            elif field not in _INTEGER_FIELDS or plain.isdigit():
                groups[field] = plain
            break
    if not message and not groups:
        return None
    return groups, message, at


def _nested(record: Mapping[str, Any], name: str) -> Any:
    value: Any = record.get(name)
    if value is not None or "." not in name:
        return value
    value = record
    for step in name.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _plain(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _string_start(text: bytes, name: str, offset: int) -> int:
    """Return where the value of a key begins, inside its quotes; the key is known to be there."""
    key = b'"' + name.rpartition(".")[2].encode() + b'"'
    found = text.find(key, offset)
    if found < 0:
        return offset
    quote = text.find(b'"', found + len(key))
    return quote + 1 if quote >= 0 else offset


def without_escapes(line: bytes) -> tuple[bytes, Sequence[tuple[int, int]]]:
    """Return the line without terminal escapes, and (offset, length cut before it) of each cut."""
    line = line.rstrip(b"\r\n")
    if b"\x1b" not in line:
        return line, ()
    pieces: list[bytes] = []
    cuts: list[tuple[int, int]] = []
    kept = cut = position = 0
    for match in _escapes().finditer(line):
        start, end = match.span()
        pieces.append(line[position:start])
        kept += start - position
        cut += end - start
        cuts.append((kept, cut))
        position = end
    pieces.append(line[position:])
    return b"".join(pieces), cuts


@functools.cache
def _escapes() -> Any:
    return compile_bytes(r"\x1b(?:\[[0-9;:?]*[A-Za-z]|\][^\x07\x1b]*\x07?|[()][A-Z0-9])?")


def _in_line(offset: int, cuts: Sequence[tuple[int, int]]) -> int:
    """Return the offset in the line as given of an offset in the line without escapes."""
    length = 0
    for at, cut in cuts:
        if at > offset:
            break
        length = cut
    return offset + length
