"""The envelopes tell who printed a line; their own samples are the first tests."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import pytest
from _pytest.mark.structures import ParameterSet

from diagnosis.engine.envelope_files import Entry, Sample, load_envelopes, read_entries
from diagnosis.engine.sources import SOURCE_FIELDS
from diagnosis.engine.stamps import StampReader

ENTRIES = read_entries()
ENVELOPES = load_envelopes()


def samples_of(entries: Sequence[Entry]) -> list[ParameterSet]:
    return [
        pytest.param(entry, sample, id=f"{entry.name}:{number}")
        for entry in entries
        for number, sample in enumerate(entry.samples)
    ]


def seconds(told: float | str | None) -> float | None:
    if isinstance(told, str):
        moment = datetime.datetime.fromisoformat(told).replace(tzinfo=datetime.UTC)
        return pytest.approx(moment.timestamp(), abs=1e-6)
    return told


def expected(name: str, told: object) -> object:
    return seconds(told) if name == "time" else told


BEFORE = {
    None: b"",
    "start": b"",
    "time": b"2026-11-30T00:00:00Z",
    "level": b"2026-11-30T00:00:00Z INFO",
}


def whole_line(entry: Entry, sample: Sample) -> bytes:
    """Return the sample as a line; what only follows a stamp or a level gets one before it."""
    return BEFORE[entry.meaning.follows] + sample.line.encode()


@pytest.mark.parametrize(("entry", "sample"), samples_of(ENTRIES.envelopes))
def test_sample_tells_what_it_says(entry: Entry, sample: Sample) -> None:
    facts = ENVELOPES.parse(whole_line(entry, sample))
    for name, told in sample.tells.items():
        value = getattr(facts.source if name in SOURCE_FIELDS else facts, name)
        assert value == expected(name, told), name
    if sample.message is not None:
        assert facts.message.decode() == sample.message
    if sample.prefix is not None:
        assert ENVELOPES.prefix_of(sample.line.encode()) == sample.prefix.encode()


@pytest.mark.parametrize(("entry", "sample"), samples_of(ENTRIES.times))
def test_time_sample_gives_its_seconds(entry: Entry, sample: Sample) -> None:
    stamp = StampReader(entry.meaning).read(sample.line.encode())
    for name, told in sample.tells.items():
        value = stamp.seconds if name == "time" else getattr(stamp, name)
        assert value == expected(name, told), name


@pytest.mark.parametrize(("entry", "sample"), samples_of(ENTRIES.paths))
def test_path_sample_tells_its_source(entry: Entry, sample: Sample) -> None:
    source = ENVELOPES.source_of_path(sample.line)
    for name, told in sample.tells.items():
        assert getattr(source, name) == told, name
