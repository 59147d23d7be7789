"""Reads the data files of `envelopes/` and refuses what does not prove itself.

`<family>.yaml` holds the envelopes of one family of emitters; `_fragments.yaml` the pieces that
patterns share (`%{host}`), `_times.yaml` the formats of time stamps (`%{time:iso}`), `_paths.yaml`
how paths tell a source, `_identities.yaml` the lines that say who is who. Each entry has sample
lines with what they must tell, and lines that it must ignore; both are tried when the files are
read. The samples also give the order of envelopes: one that matches another's sample is the more
general of the two and is tried later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from diagnosis.engine import pattern_rules
from diagnosis.engine.patterns import BytePattern, BytePatternSet, PatternError
from diagnosis.engine.records import RecordKeys
from diagnosis.engine.sightings import ABOUT, CAPTURES, COUNTS, CaptureReader, IdentityPattern
from diagnosis.engine.sources import (
    PATTERN_GROUPS,
    PLACES,
    SOURCE_FIELDS,
    Envelope,
    Envelopes,
    PathPattern,
    without_escapes,
)
from diagnosis.engine.stamps import TIME_GROUPS, StampReader, TimeFormat

__all__ = [
    "FOLDER",
    "Entries",
    "Entry",
    "EnvelopeError",
    "Sample",
    "load_envelopes",
    "read_entries",
]

FOLDER = Path(__file__).with_name("envelopes")

_FRAGMENTS = "_fragments.yaml"
_ALWAYS = frozenset(("name", "reference", "pattern", "samples", "ignores"))
_PLACEHOLDER = re.compile(r"%\{(time:)?([a-z0-9_]+)\}")
_GROUP_NAME = re.compile(r"\(\?P<[a-z_]+>")
# The parser in C is ten times as fast; it is there wherever PyYAML came as a wheel.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Meaning = TypeVar("_Meaning", Envelope, TimeFormat, PathPattern, IdentityPattern)
_Body = Mapping[str, Any]


class EnvelopeError(ValueError):
    """A data file that cannot be used; the message names file, entry and reason."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line as its emitter prints it and what must be read from it.

    `tells` are fields of `Source`, `severity`, `clock`, `zone_known` and `time` (seconds, or ISO
    text taken as UTC); of an identity, its captures. `message` is held where it is not None.
    """

    line: str
    tells: Mapping[str, Any]
    message: str | None


@dataclass(frozen=True, slots=True)
class Entry(Generic[_Meaning]):
    """One entry of a data file: what it means to the engine, and its proof."""

    file: str
    name: str
    reference: str
    meaning: _Meaning
    samples: tuple[Sample, ...]
    ignores: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries of a folder, in the order of files and of entries in them."""

    times: tuple[Entry[TimeFormat], ...]
    paths: tuple[Entry[PathPattern], ...]
    identities: tuple[Entry[IdentityPattern], ...]
    envelopes: tuple[Entry[Envelope], ...]


def load_envelopes(folder: Path = FOLDER) -> Envelopes:
    """Return all that the files of `folder` say, envelopes in the order they are to be tried in.

    Raises EnvelopeError, with file, entry and reason: no sample, a pattern that is not RE2, a
    sample that is not read, an ignored line that is, entries that match each other's samples.
    """
    entries = read_entries(folder)
    for time in entries.times:
        _prove(time, StampReader(time.meaning).read)
    for path in entries.paths:
        _prove(path, BytePattern(path.meaning.pattern).search)
    for identity in entries.identities:
        _prove(identity, _identity_reader(identity.meaning))
    for envelope in entries.envelopes:
        _prove(envelope, _front_matcher(envelope.meaning))
    return Envelopes(
        envelopes=tuple(entry.meaning for entry in _ordered(entries.envelopes)),
        times=tuple(entry.meaning for entry in entries.times),
        paths=tuple(entry.meaning for entry in entries.paths),
        identities=tuple(entry.meaning for entry in entries.identities),
    )


def read_entries(folder: Path = FOLDER) -> Entries:
    """Return all entries of `folder`; raises EnvelopeError."""
    fragments = _read_fragments(folder / _FRAGMENTS)
    times = _read(folder / "_times.yaml", fragments, _time_format, ())
    pieces = fragments | {f"time:{entry.name}": entry.meaning.pattern for entry in times}
    families = sorted(folder.glob("[!_]*.yaml"))
    entries = Entries(
        times=tuple(times),
        paths=tuple(_read(folder / "_paths.yaml", pieces, _path_pattern, ("sets", "layout"))),
        identities=tuple(
            _read(folder / "_identities.yaml", pieces, _identity, ("captures", *_OF_IDENTITY))
        ),
        envelopes=tuple(
            entry
            for path in families
            for entry in _read(path, pieces, _envelope, ("sets", "follows", "collects", "json"))
        ),
    )
    for kind in (entries.times, entries.paths, entries.identities, entries.envelopes):
        _check_names(kind)
    return entries


_OF_IDENTITY = ("about", "excludes", "block", "implies")


def _check_names(entries: Sequence[Entry[Any]]) -> None:
    names: set[str] = set()
    for entry in entries:
        if entry.name in names:
            raise EnvelopeError(f"{entry.file}: {entry.name}: the name stands twice")
        names.add(entry.name)


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506, safe
    except FileNotFoundError as missing:
        raise EnvelopeError(f"{path.name}: the file is missing") from missing
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise EnvelopeError(f"{path.name}: not YAML: {error}") from error


def _read_fragments(path: Path) -> dict[str, str]:
    """Return the shared pieces of patterns; each may use those that stand before it."""
    fragments: dict[str, str] = {}
    body = _read_yaml(path)
    if not isinstance(body, dict):
        raise EnvelopeError(f"{path.name}: must be names with patterns")
    for name, pattern in body.items():
        fragments[name] = _expanded(pattern, fragments, f"{path.name}: {name}")
    return fragments


def _expanded(pattern: str, pieces: Mapping[str, str], where: str) -> str:
    """Return the pattern with its `%{name}` replaced; `%{time:name}` becomes the group `time`."""

    def piece(match: re.Match[str]) -> str:
        key = match.group()[2:-1]
        if key not in pieces:
            raise EnvelopeError(f"{where}: no fragment or time format is called {key}")
        if match.group(1):
            return "(?P<time>" + _GROUP_NAME.sub("(?:", pieces[key]) + ")"
        return f"(?:{pieces[key]})"

    return _PLACEHOLDER.sub(piece, pattern)


def _read(
    path: Path,
    pieces: Mapping[str, str],
    meaning: Callable[[_Body, str, str], _Meaning],
    more_keys: Sequence[str],
) -> list[Entry[_Meaning]]:
    """Return the entries of one file; `meaning(body, pattern, where)` makes each what it means."""
    bodies = _read_yaml(path)
    if not isinstance(bodies, list) or not all(isinstance(body, dict) for body in bodies):
        raise EnvelopeError(f"{path.name}: must be a list of entries")
    return [_entry(path.name, body, pieces, meaning, more_keys) for body in bodies]


def _entry(
    file: str,
    body: _Body,
    pieces: Mapping[str, str],
    meaning: Callable[[_Body, str, str], _Meaning],
    more_keys: Sequence[str],
) -> Entry[_Meaning]:
    name = body.get("name")
    if not isinstance(name, str):
        raise EnvelopeError(f"{file}: an entry has no name")
    where = f"{file}: {name}"
    if unknown := sorted(set(body) - _ALWAYS - set(more_keys)):
        raise EnvelopeError(f"{where}: unknown keys {', '.join(unknown)}")
    for needed in sorted(_ALWAYS):
        if not body.get(needed):
            raise EnvelopeError(f"{where}: no {needed}")
    pattern = _expanded(body["pattern"], pieces, where)
    _compiled(pattern, where)
    return Entry(
        file=file,
        name=name,
        reference=body["reference"],
        meaning=meaning(body, pattern, where),
        samples=tuple(_sample(sample, where) for sample in body["samples"]),
        ignores=tuple(body["ignores"]),
    )


def _compiled(pattern: str, where: str) -> BytePattern:
    try:
        return BytePattern(pattern)
    except PatternError as error:
        raise EnvelopeError(f"{where}: {pattern!r} is not RE2: {error}") from error


def _sample(body: Any, where: str) -> Sample:
    keys = {"line", "tells", "message"}
    if not isinstance(body, dict) or not body.get("line") or set(body) - keys:
        raise EnvelopeError(f"{where}: a sample has a line, and may have tells, message")
    return Sample(body["line"], body.get("tells") or {}, body.get("message"))


def _time_format(body: _Body, pattern: str, where: str) -> TimeFormat:
    _check_groups(pattern, TIME_GROUPS, where)
    return TimeFormat(body["name"], pattern)


def _path_pattern(body: _Body, pattern: str, where: str) -> PathPattern:
    _check_groups(pattern, SOURCE_FIELDS, where)
    return PathPattern(
        body["name"], pattern, _sets(body, where), layout=body.get("layout", False) is True
    )


def _identity(body: _Body, pattern: str, where: str) -> IdentityPattern:
    for fault in pattern_rules.faults(pattern):
        raise EnvelopeError(f"{where}: the pattern {fault}")
    if body.get("about") not in ABOUT:
        raise EnvelopeError(f"{where}: about is one of {', '.join(ABOUT)}")
    captures = body.get("captures") or ()
    captures = (captures,) if isinstance(captures, str) else tuple(captures)
    for capture in captures:
        _check_groups(capture, CAPTURES, where)
    excludes = body.get("excludes")
    if excludes is not None:
        _compiled(excludes, where)
    return IdentityPattern(
        name=body["name"],
        pattern=pattern,
        captures=captures,
        about=body["about"],
        excludes=excludes,
        block=body.get("block"),
        implies=_implied(body, where),
    )


def _implied(body: _Body, where: str) -> tuple[tuple[str, int], ...]:
    implied = body.get("implies") or {}
    if unknown := sorted(set(implied) - COUNTS):
        raise EnvelopeError(f"{where}: nothing that is counted is called {', '.join(unknown)}")
    return tuple(sorted(implied.items()))


def _envelope(body: _Body, pattern: str, where: str) -> Envelope:
    _check_groups(pattern, PATTERN_GROUPS, where)
    follows = body.get("follows")
    if follows not in PLACES:
        places = ", ".join(place for place in PLACES if place)
        raise EnvelopeError(f"{where}: follows is one of {places}")
    return Envelope(
        name=body["name"],
        pattern=pattern,
        sets=_sets(body, where),
        time_format=_time_name(body),
        follows=follows,
        collects=body.get("collects", False),
        json=_record_keys(body, where),
    )


def _check_groups(pattern: str, allowed: frozenset[str], where: str) -> None:
    if unknown := sorted(_compiled(pattern, where).names - allowed):
        raise EnvelopeError(f"{where}: no field is called {', '.join(unknown)}")
    # RE2 lets a name stand twice, and then reads one of the two groups.
    for name, times in Counter(_GROUP_NAME.findall(pattern)).items():
        if times > 1:
            raise EnvelopeError(f"{where}: the group {name[4:-1]} stands twice")


def _sets(body: _Body, where: str) -> tuple[tuple[str, str], ...]:
    sets = body.get("sets") or {}
    if unknown := sorted(set(sets) - SOURCE_FIELDS):
        raise EnvelopeError(f"{where}: no field is called {', '.join(unknown)}")
    return tuple(sorted(sets.items()))


def _time_name(body: _Body) -> str | None:
    """Return the name of the format in which the envelope's time is written."""
    names = (name for prefix, name in _PLACEHOLDER.findall(body["pattern"]) if prefix)
    return next(names, None)


def _record_keys(body: _Body, where: str) -> RecordKeys | None:
    if "json" not in body:
        return None
    keys = dict(body["json"])
    details = tuple(keys.pop("details", ()))
    if unknown := sorted(set(keys) - SOURCE_FIELDS - {"message", "time", "severity"}):
        raise EnvelopeError(f"{where}: no field is called {', '.join(unknown)}")
    return RecordKeys(tuple((field, tuple(names)) for field, names in keys.items()), details)


def _prove(entry: Entry[Any], reads: Callable[[bytes], object]) -> None:
    """Try the entry's lines on its own pattern; what is read from them, tests hold."""
    where = f"{entry.file}: {entry.name}"
    for sample in entry.samples:
        if not reads(sample.line.encode()):
            raise EnvelopeError(f"{where}: does not match its sample {sample.line!r}")
    for line in entry.ignores:
        if reads(line.encode()):
            raise EnvelopeError(f"{where}: matches what it must ignore: {line!r}")


def _identity_reader(entry: IdentityPattern) -> Callable[[bytes], object]:
    pattern, captures = BytePattern(entry.pattern), CaptureReader(entry)
    return lambda line: pattern.search(line) and captures.read(line) is not None


def _front_matcher(envelope: Envelope) -> Callable[[bytes], object]:
    pattern = BytePattern(envelope.pattern)
    return lambda line: pattern.match(without_escapes(line)[0])


def _ordered(entries: Sequence[Entry[Envelope]]) -> Iterator[Entry[Envelope]]:
    """Yield the envelopes, specific before general.

    Raises EnvelopeError where each of several envelopes matches another one's sample: neither is
    the more general, so one of them must be drawn more sharply.
    """
    by_name = {entry.name: entry for entry in entries}
    try:
        yield from (by_name[name] for name in TopologicalSorter(_before(entries)).static_order())
    except CycleError as error:
        circle: Iterable[str] = error.args[1]
        names = ", ".join(sorted(set(circle)))
        file = by_name[next(iter(circle))].file
        raise EnvelopeError(f"{file}: {names}: match each other's samples") from error


def _before(entries: Sequence[Entry[Envelope]]) -> dict[str, list[str]]:
    """Return for each envelope those that must be tried before it."""
    before: dict[str, list[str]] = {entry.name: [] for entry in entries}
    finder = BytePatternSet([entry.meaning.pattern for entry in entries])
    for specific in entries:
        for sample in specific.samples:
            for index in finder.matches(without_escapes(sample.line.encode())[0]):
                general = entries[index]
                if general is not specific and _compete(general.meaning, specific.meaning):
                    before[general.name].append(specific.name)
    return before


def _compete(one: Envelope, other: Envelope) -> bool:
    """Say whether two envelopes can ever be tried at the same place."""
    return one.follows is None or other.follows is None or one.follows == other.follows
