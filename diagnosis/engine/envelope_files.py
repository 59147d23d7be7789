"""Reads the data files of `envelopes/` and refuses what does not prove itself.

`<family>.yaml` holds the envelopes of one family of emitters; `_fragments.yaml` the pieces that
patterns share (`%{host}`), `_times.yaml` the formats of time stamps (`%{time:iso}`), `_paths.yaml`
how paths tell a source. Each entry has sample lines with what they must tell and lines that it must
ignore; both are tried when the files are read. The samples also give the order: an envelope that
matches another's sample is the more general of the two and is tried later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

from diagnosis.engine.patterns import BytePattern, PatternError
from diagnosis.engine.records import RecordKeys
from diagnosis.engine.sources import (
    PLACES,
    PATTERN_GROUPS,
    SOURCE_FIELDS,
    Envelope,
    Envelopes,
    PathPattern,
    without_escapes,
)
from diagnosis.engine.stamps import TIME_GROUPS, StampReader, TimeFormat

__all__ = ["FOLDER", "EnvelopeError", "Entry", "Sample", "load_envelopes", "read_entries"]

FOLDER = Path(__file__).with_name("envelopes")

_FRAGMENTS, _TIMES, _PATHS = "_fragments.yaml", "_times.yaml", "_paths.yaml"
_ENTRY_KEYS = frozenset(
    ("name", "reference", "pattern", "sets", "follows", "json", "samples", "ignores")
)
_SAMPLE_KEYS = frozenset(("line", "tells", "message", "prefix"))
_PLACEHOLDER = re.compile(r"%\{(time:)?([a-z0-9_]+)\}")
_GROUP_NAME = re.compile(r"\(\?P<[a-z_]+>")


class EnvelopeError(ValueError):
    """A data file that cannot be used; the message names file, entry and reason."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line as its emitter prints it and what must be read from it.

    `tells` are fields of `Source`, `severity`, `clock`, `zone_known` and `time` (seconds, or ISO
    text taken as UTC). `message` and `prefix` are held where they are not None.
    """

    line: str
    tells: Mapping[str, Any]
    message: str | None
    prefix: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a data file: what it means for the engine, and its proof."""

    file: str
    name: str
    reference: str
    meaning: Envelope | TimeFormat | PathPattern
    samples: tuple[Sample, ...]
    ignores: tuple[str, ...]

    def fault(self, reason: str) -> EnvelopeError:
        """Return the error that says what is wrong with this entry."""
        return EnvelopeError(f"{self.file}: {self.name}: {reason}")


def load_envelopes(folder: Path = FOLDER) -> Envelopes:
    """Return the envelopes of `folder`, proved, in the order in which they are to be tried.

    Raises EnvelopeError, with file, entry and reason, where an entry has no sample, a pattern is
    not RE2, a sample is not read, an ignored line is, or two entries match each other's samples.
    """
    entries = read_entries(folder)
    for entry in entries:
        _prove(entry)
    envelopes = [entry for entry in entries if isinstance(entry.meaning, Envelope)]
    return Envelopes(
        envelopes=tuple(entry.meaning for entry in _ordered(envelopes)),
        times=tuple(entry.meaning for entry in entries if isinstance(entry.meaning, TimeFormat)),
        paths=tuple(entry.meaning for entry in entries if isinstance(entry.meaning, PathPattern)),
    )


def read_entries(folder: Path = FOLDER) -> list[Entry]:
    """Return all entries of `folder`, in the order of file names; raises EnvelopeError."""
    fragments = _read_fragments(folder / _FRAGMENTS)
    times = [
        _entry(folder / _TIMES, body, fragments, _time_format)
        for body in _read_list(folder / _TIMES)
    ]
    pieces = fragments | {f"time:{entry.name}": entry.meaning.pattern for entry in times}
    paths = [
        _entry(folder / _PATHS, body, pieces, _path_pattern) for body in _read_list(folder / _PATHS)
    ]
    envelopes = [
        _entry(path, body, pieces, _envelope)
        for path in sorted(folder.glob("[!_]*.yaml"))
        for body in _read_list(path)
    ]
    entries = [*times, *paths, *envelopes]
    names = [(type(entry.meaning), entry.name) for entry in entries]
    for entry, name in zip(entries, names, strict=True):
        if names.count(name) > 1:
            raise entry.fault("the name stands twice")
    return entries


_Body = Mapping[str, Any]
_Meaning = Envelope | TimeFormat | PathPattern


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    except FileNotFoundError as missing:
        raise EnvelopeError(f"{path.name}: the file is missing") from missing
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise EnvelopeError(f"{path.name}: not YAML: {error}") from error


def _read_list(path: Path) -> list[_Body]:
    entries = _read_yaml(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise EnvelopeError(f"{path.name}: must be a list of entries")
    return entries


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


def _entry(
    path: Path,
    body: _Body,
    pieces: Mapping[str, str],
    meaning: Callable[[_Body, str, str], _Meaning],
) -> Entry:
    name = body.get("name")
    where = f"{path.name}: {name}"
    if not isinstance(name, str):
        raise EnvelopeError(f"{path.name}: an entry has no name")
    if unknown := sorted(set(body) - _ENTRY_KEYS):
        raise EnvelopeError(f"{where}: unknown keys {', '.join(unknown)}")
    for needed in ("reference", "pattern", "samples", "ignores"):
        if not body.get(needed):
            raise EnvelopeError(f"{where}: no {needed}")
    pattern = _expanded(body["pattern"], pieces, where)
    try:
        BytePattern(pattern)
    except PatternError as error:
        raise EnvelopeError(f"{where}: the pattern is not RE2: {error}") from error
    return Entry(
        file=path.name,
        name=name,
        reference=body["reference"],
        meaning=meaning(body, pattern, where),
        samples=tuple(_sample(sample, where) for sample in body["samples"]),
        ignores=tuple(body["ignores"]),
    )


def _sample(body: _Body, where: str) -> Sample:
    if not isinstance(body, dict) or not body.get("line") or set(body) - _SAMPLE_KEYS:
        raise EnvelopeError(f"{where}: a sample has a line, and may have tells, message, prefix")
    return Sample(body["line"], body.get("tells") or {}, body.get("message"), body.get("prefix"))


def _time_format(body: _Body, pattern: str, where: str) -> TimeFormat:
    _check_groups(pattern, TIME_GROUPS, where)
    return TimeFormat(body["name"], pattern)


def _path_pattern(body: _Body, pattern: str, where: str) -> PathPattern:
    _check_groups(pattern, SOURCE_FIELDS, where)
    return PathPattern(body["name"], pattern, _sets(body, where))


def _envelope(body: _Body, pattern: str, where: str) -> Envelope:
    _check_groups(pattern, PATTERN_GROUPS, where)
    follows = body.get("follows")
    if follows not in PLACES:
        places = ", ".join(place for place in PLACES if place)
        raise EnvelopeError(f"{where}: follows can be {places}")
    return Envelope(
        name=body["name"],
        family=where.partition(".")[0],
        pattern=pattern,
        sets=_sets(body, where),
        time_format=_time_name(body, where),
        follows=follows,
        json=_json_keys(body, where),
    )


def _check_groups(pattern: str, allowed: frozenset[str], where: str) -> None:
    if unknown := sorted(BytePattern(pattern).names - allowed):
        raise EnvelopeError(f"{where}: no field is called {', '.join(unknown)}")


def _sets(body: _Body, where: str) -> tuple[tuple[str, str], ...]:
    sets = body.get("sets") or {}
    if unknown := sorted(set(sets) - SOURCE_FIELDS):
        raise EnvelopeError(f"{where}: no field is called {', '.join(unknown)}")
    return tuple(sorted(sets.items()))


def _time_name(body: _Body, where: str) -> str | None:
    names = {name for prefix, name in _PLACEHOLDER.findall(body["pattern"]) if prefix}
    if len(names) > 1:
        raise EnvelopeError(f"{where}: an envelope holds one time at most")
    return names.pop() if names else None


def _json_keys(body: _Body, where: str) -> RecordKeys | None:
    if "json" not in body:
        return None
    keys = {
        field: tuple(names) if isinstance(names, list) else (names,)
        for field, names in body["json"].items()
    }
    if unknown := sorted(set(keys) - SOURCE_FIELDS - {"message", "time", "severity"}):
        raise EnvelopeError(f"{where}: no field is called {', '.join(unknown)}")
    return RecordKeys(tuple(keys.items()))


def _prove(entry: Entry) -> None:
    """Try the entry's own lines on its own pattern; what is read from them all tests hold."""
    read = _reader(entry.meaning)
    for sample in entry.samples:
        if not read(sample.line.encode()):
            raise entry.fault(f"does not match its sample {sample.line!r}")
    for line in entry.ignores:
        if read(line.encode()):
            raise entry.fault(f"matches what it must ignore: {line!r}")


def _reader(meaning: _Meaning) -> Callable[[bytes], object]:
    if isinstance(meaning, TimeFormat):
        return StampReader(meaning).read
    pattern = BytePattern(meaning.pattern)
    if isinstance(meaning, PathPattern):
        return pattern.search
    return lambda line: pattern.match(without_escapes(line)[0])


def _ordered(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the envelopes, specific before general.

    Raises EnvelopeError where each of several envelopes matches another one's sample: neither is
    the more general, so one of them must be drawn more sharply.
    """
    by_name = {entry.name: entry for entry in entries}
    before: dict[str, list[str]] = {name: [] for name in by_name}
    for general in entries:
        matches = _reader(general.meaning)
        for specific in entries:
            if specific is not general and _compete(general, specific):
                lines = (sample.line.encode() for sample in specific.samples)
                if any(matches(line) for line in lines):
                    before[general.name].append(specific.name)
    try:
        yield from (by_name[name] for name in TopologicalSorter(before).static_order())
    except CycleError as error:
        circle = error.args[1]
        raise by_name[circle[0]].fault(
            f"neither is the more general of those that match each other's samples: "
            f"{', '.join(sorted(set(circle)))}"
        ) from error


def _compete(first: Entry, second: Entry) -> bool:
    """Say whether two envelopes can ever be tried at the same place."""
    places = {entry.meaning.follows for entry in (first, second)} - {None}
    return len(places) < 2


# The parser in C reads the files ten times as fast; it is there wherever PyYAML came as a wheel.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
