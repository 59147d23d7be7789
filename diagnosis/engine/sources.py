"""Who printed a line: rank, host, pod, pid and time, read from the prefixes in front of it.

Launchers, log collectors and loggers each put an envelope around a line, and envelopes nest: a pod,
a local rank, a stamp, a level, then the message. Each kind is an entry of a data file under
`envelopes/` (`envelope_files` reads and checks them); this module peels them off one by one. Text
is bytes throughout, and patterns run in RE2, so a line costs linear time whatever stands in it.
"""

from __future__ import annotations

import dataclasses
import functools
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from diagnosis.engine.patterns import BytePattern, BytePatternSet
from diagnosis.engine.records import RecordKeys, open_record
from diagnosis.engine.shared_prefix import SharedPrefix
from diagnosis.engine.stamps import Stamp, StampReader, TimeFormat
from diagnosis.engine.unfolded import HEAD, read_head, unfold

if TYPE_CHECKING:
    from diagnosis.engine.sightings import IdentityPattern

__all__ = [
    "NOBODY",
    "NO_WORKERS",
    "SECTION_PATTERN",
    "Envelope",
    "Envelopes",
    "LineFacts",
    "PathPattern",
    "Sections",
    "Source",
    "merge",
]

# A taller stack of prefixes has not been seen; a line that looks like one is hostile.
_TALLEST_STACK = 12
# Prefixes are short; what goes on for longer is text.
_LONGEST_PREFIX = 1024
# The header that `tail` and `head` put before each of several files; for the scan of the log.
SECTION_PATTERN = r"^==> [^\r\n]{1,64}[^\r\n]{0,64} <=="
# An envelope that ends in a blank has brought its own separator.
_BLANKS = b" \t"
# No rank and no pid has more digits.
_LONGEST_NUMBER = 18


@dataclass(frozen=True, slots=True)
class Source:
    """Who printed a line; a field is None where that is not told.

    `rank` is the global rank; `local_rank` counts within a node; `device` is the index of a GPU on
    its node; `group_rank` counts within a group of ranks (a process group, a tensor-parallel
    group) and is the global rank only where the group is the world. `label` is what a launcher put
    in front of the line and what means this or that by the way of the launch: under `srun --label`
    the task, which is the rank where each task is a rank, and the node where each task is a
    torchrun. `role` is the kind of process: worker, agent, launcher, kernel, kubelet, slurmstepd,
    or the program's name. `service_pid` is the process that a journal names: a service, behind
    which any of its children may have printed the line. `collected_from` is what who collected the
    line calls the host, where the program itself calls it otherwise.
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
    service_pid: int | None = None
    collected_from: str | None = None


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
class Envelope:
    """One kind of prefix.

    `pattern` (RE2) is matched at the front of what is left of the line. Its named groups are fields
    of `Source`, or `time` (read by the format named `time_format`), `severity` and `rest` (the end
    of the match that is looked at only and stays in the line). `sets` are fields told by its mere
    presence. One with `follows` is tried only in that place: at the start of what the program
    printed ("start"), directly behind a stamp ("time"), or behind a level that stands behind a
    stamp ("level"). What `collects` was put there by something that gathers the lines of others:
    the program's own line starts behind it. `json` says that the line is a JSON object, to be read
    by these keys.
    """

    name: str
    pattern: str
    sets: tuple[tuple[str, str], ...] = ()
    time_format: str | None = None
    follows: str | None = None
    collects: bool = False
    json: RecordKeys | None = None


@dataclass(frozen=True, slots=True)
class PathPattern:
    """How a path tells its source: an RE2 pattern searched in it; groups are fields of `Source`.

    `layout` says that these folders are laid out so by a program; else a folder is only looked at
    where it tells files apart.
    """

    name: str
    pattern: str
    sets: tuple[tuple[str, str], ...] = ()
    layout: bool = False


NOBODY = Source()
# Roles that speak of a node or of the whole job, whatever label their lines come under.
NO_WORKERS = frozenset(
    (
        "agent",
        "containerd",
        "dockerd",
        "kernel",
        "kubelet",
        "launcher",
        "slurmd",
        "slurmstepd",
        "srun",
        "sshd",
        "systemd",
    )
)
SOURCE_FIELDS = frozenset(entry.name for entry in dataclasses.fields(Source))
# The places that an envelope may be bound to; None is anywhere.
PLACES = (None, "start", "time", "level")
# The head of a record that was made lines of text.
_UNFOLDED = Envelope("unfolded", "", collects=True)
# A prefix of no known kind.
_SHARED = Envelope("shared", "", collects=True)
# The groups a pattern may name.
PATTERN_GROUPS = SOURCE_FIELDS | {"time", "severity", "rest"}
_INTEGER_FIELDS = frozenset(
    ("rank", "local_rank", "pid", "attempt", "node_rank", "device", "group_rank", "service_pid")
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
class Sections:
    """The parts of a file by who wrote them; `starts` are offsets, ascending from 0."""

    starts: tuple[int, ...]
    sources: tuple[Source, ...]

    def at(self, offset: int) -> Source:
        """Return who wrote the part that holds `offset`, as far as names of files tell."""
        return self.sources[bisect_right(self.starts, offset) - 1]


class _Layer(NamedTuple):
    """One envelope as found at `start`; its rest begins at `end`."""

    envelope: Envelope
    start: int
    end: int
    groups: Mapping[str, bytes]


class _Peeled(NamedTuple):
    """A line without its envelopes: the rest of `text` from `offset` on is the message.

    `origin` is where `text` begins in the line: 0, or within a JSON object.
    """

    layers: Sequence[_Layer]
    text: bytes
    offset: int
    origin: int


class _Finder:
    """The compiled form of envelopes: which of them stands at the front of a text."""

    __slots__ = ("_all", "_envelopes", "_patterns")

    def __init__(self, envelopes: Sequence[Envelope]) -> None:
        self._envelopes = envelopes
        self._all = BytePatternSet([entry.pattern for entry in envelopes])
        self._patterns: dict[int, BytePattern] = {}

    def find(self, text: bytes, offset: int, place: str | None) -> _Layer | None:
        """Return the most specific envelope that stands at `offset`, or None."""
        head = text[offset : offset + _LONGEST_PREFIX]
        for index in self._all.matches(head):
            follows = self._envelopes[index].follows
            if follows is None or follows == place:
                return self._layer(index, head, offset)
        return None

    def _layer(self, index: int, head: bytes, offset: int) -> _Layer | None:
        pattern = self._patterns.get(index)
        if pattern is None:
            pattern = self._patterns[index] = BytePattern(self._envelopes[index].pattern)
        found = pattern.match(head)
        if found is None:
            return None
        end = offset + found.end - len(found.groups.pop("rest", b""))
        return _Layer(self._envelopes[index], offset, end, found.groups)


@dataclass(frozen=True)
class Envelopes:
    """All that tells sources, as plain data that pickles; patterns are compiled on first use.

    `envelopes` stand in the order in which they are tried, most specific first.
    """

    envelopes: tuple[Envelope, ...]
    times: tuple[TimeFormat, ...]
    paths: tuple[PathPattern, ...]
    identities: tuple[IdentityPattern, ...]

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
    def _path_patterns(self) -> Sequence[tuple[PathPattern, BytePattern]]:
        return [(entry, BytePattern(entry.pattern)) for entry in self.paths]

    def parse(
        self,
        line: bytes,
        inherited: Source = NOBODY,
        year: int | None = None,
        shared: SharedPrefix | None = None,
    ) -> LineFacts:
        """Return who printed `line`, when, how badly, and the bare message.

        `inherited` is what is known from elsewhere (the file's name); what the line itself tells
        goes before it. `year` is for stamps that name none; `shared` is a prefix of no known kind.
        Any bytes give an answer.
        """
        text, cuts = without_escapes(line)
        peeled = self._peel(text, shared)
        if not peeled.layers:
            return _bare(inherited, text, _in_line(0, cuts))
        told: dict[str, Any] = {}
        stamps: list[Stamp] = []
        severity: str | None = None
        for layer in peeled.layers:
            if layer.envelope.sets:
                told.update(layer.envelope.sets)
            fields = _source_fields(layer.groups)
            if "pod" in fields and "host" not in fields:
                # Who collects the lines of pods says on which host he runs, not where they do.
                told.pop("host", None)
            if "host" in fields and told.get("host", fields["host"]) != fields["host"]:
                told.setdefault("collected_from", told["host"])
            told.update(fields)
            if "severity" in layer.groups:
                severity = _severity(layer.groups["severity"]) or severity
            if "time" in layer.groups and (stamp := self._stamp(layer, year)) is not None:
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

    def unfold(self, data: bytes) -> bytes:
        """Return a text with its records made lines of text (see `unfolded.unfold`)."""
        keys = next((entry.json for entry in self.envelopes if entry.json is not None), None)
        return data if keys is None else unfold(data, keys, self._precedes_record)

    def _precedes_record(self, prefix: bytes) -> bool:
        layers = self._peel(prefix + b'{"log": ""}').layers
        return bool(layers) and layers[-1].envelope.json is not None

    def names(self, line: bytes) -> tuple[str, ...]:
        """Return the names of the envelopes around a line, outermost first: to see what matched."""
        layers = self._peel(without_escapes(line)[0]).layers
        return tuple(layer.envelope.name for layer in layers)

    def source_of_path(self, path: str, own: str | None = None) -> Source:
        """Return what a file's name or path tells of who wrote it.

        `own` is the end of the path that no other file shares; without it, all of the path is.
        """
        told: dict[str, Any] = {}
        whole = path.encode("utf-8", "surrogateescape")
        begin = 0 if own is None else len(whole) - len(own.encode("utf-8", "surrogateescape"))
        for entry, pattern in self._path_patterns:
            offset = 0 if entry.layout else begin
            found = pattern.search(whole[offset:])
            if found is not None:
                told = {**dict(entry.sets), **_source_fields(found.groups), **told}
                start, end = offset + found.start, offset + found.end
                whole = whole[:start] + b"/" + whole[end:]
                begin = min(begin, start)
        return _with(NOBODY, told)

    def sections(
        self, name: str, headers: Iterable[tuple[int, bytes]], own: str | None = None
    ) -> Sections:
        """Return who wrote which part of a file that may show several files one after the other.

        `headers` are the lines found by SECTION_PATTERN, each with its offset, ascending. What
        stands before the first is the file's own, by `name` (see `source_of_path`).
        """
        starts = [0]
        sources = [self.source_of_path(name, own)]
        for start, line in headers:
            shown = line.strip().removeprefix(b"==> ").removesuffix(b" <==")
            starts.append(start)
            sources.append(self.source_of_path(shown.decode("utf-8", "surrogateescape")))
        return Sections(tuple(starts), tuple(sources))

    def _peel(self, text: bytes, shared: SharedPrefix | None = None) -> _Peeled:
        layers: list[_Layer] = []
        offset = origin = 0
        place: str | None = "start"
        at_start = True
        while len(layers) < _TALLEST_STACK:
            head = read_head(text, offset) if text.startswith(HEAD, offset) else None
            if head is not None:
                layers.append(_Layer(_UNFOLDED, offset, head[1], head[0]))
                offset, place = head[1], "start"
                continue
            layer = self._finder.find(text, offset, place)
            if layer is None and shared is not None:
                layer, shared = _shared_layer(shared, text, offset), None
            if layer is None:
                break
            if layer.envelope.json is not None:
                opened = open_record(layer.envelope.json, text, offset)
                if opened is None:
                    break
                layers.append(layer._replace(groups=opened.fields))
                text, offset, origin = opened.message, 0, origin + opened.offset
                place = "start"
                continue
            layers.append(layer)
            if layer.end == offset:
                break
            offset = layer.end
            at_start = at_start and (layer.envelope.collects or _is_stamp(layer))
            place = _place_behind(layer, text[offset - 1], at_start=at_start)
        return _Peeled(layers, text, offset, origin)

    def _stamp(self, layer: _Layer, year: int | None) -> Stamp | None:
        text = layer.groups["time"]
        if layer.envelope.time_format is not None:
            return self._stamp_readers[layer.envelope.time_format].read(text, year)
        stamps = (reader.read(text, year) for reader in self._stamp_readers.values())
        return next((stamp for stamp in stamps if stamp is not None), None)


def _shared_layer(shared: SharedPrefix, text: bytes, offset: int) -> _Layer | None:
    """Return the prefix of no known kind that stands at `offset`, or None."""
    length = shared.length_in(text[offset : offset + _LONGEST_PREFIX])
    if not length:
        return None
    label = {"container": text[offset : offset + length].strip()} if shared.labels else {}
    return _Layer(_SHARED, offset, offset + length, label)


def merge(outer: Source, inner: Source) -> Source:
    """Return one source of two: what the inner envelope tells goes before the outer one's."""
    told = {name: value for name in SOURCE_FIELDS if (value := getattr(inner, name)) is not None}
    return _with(outer, told)


def _bare(inherited: Source, message: bytes, offset: int) -> LineFacts:
    return LineFacts(
        source=inherited,
        time=None,
        time_text=None,
        zone_known=False,
        clock=None,
        severity=None,
        message=message,
        message_offset=offset,
    )


def _place_behind(layer: _Layer, last_byte: int, *, at_start: bool) -> str | None:
    """Return the place that the next envelope has."""
    if last_byte not in _BLANKS:
        if layer.envelope.follows == "time" and "severity" in layer.groups:
            return "level"
        if "time" in layer.groups and "severity" not in layer.groups:
            return "time"
    return "start" if at_start else None


def _is_stamp(layer: _Layer) -> bool:
    return layer.groups.keys() <= {"time"} and not layer.envelope.sets


def source_of_groups(groups: Mapping[str, bytes]) -> Source:
    """Return the source that named groups of a pattern tell; other names are passed over."""
    return _with(NOBODY, _source_fields(groups))


def _source_fields(groups: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        name: read
        for name, value in groups.items()
        if name in SOURCE_FIELDS and (read := _field_value(name, value)) is not None
    }


def _field_value(name: str, value: bytes) -> int | str | None:
    """Return a field as it is kept; None where it holds nothing that fits (a rank of "main")."""
    if name not in _INTEGER_FIELDS:
        return value.decode("utf-8", "replace") or None
    return int(value) if value.isdigit() and len(value) <= _LONGEST_NUMBER else None


def _severity(word: bytes) -> str | None:
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


def without_escapes(line: bytes) -> tuple[bytes, Sequence[tuple[int, int]]]:
    """Return the line without terminal escapes, and (offset, length cut before it) of each cut."""
    line = line.rstrip(b"\r\n")
    if b"\x1b" not in line:
        return line, ()
    pieces: list[bytes] = []
    cuts: list[tuple[int, int]] = []
    kept = cut = position = 0
    while (found := _escapes().search(line, position)) is not None:
        pieces.append(line[position : found.start])
        kept += found.start - position
        cut += found.end - found.start
        cuts.append((kept, cut))
        position = found.end
    pieces.append(line[position:])
    return b"".join(pieces), cuts


@functools.cache
def _escapes() -> BytePattern:
    return BytePattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z^_=>])?")


def _in_line(offset: int, cuts: Sequence[tuple[int, int]]) -> int:
    """Return the offset in the line as given of an offset in the line without escapes."""
    length = 0
    for at, cut in cuts:
        if at > offset:
            break
        length = cut
    return offset + length
