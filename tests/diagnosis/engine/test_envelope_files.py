"""Data files that do not prove themselves are refused, with file, entry and reason."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from diagnosis.engine.envelope_files import FOLDER, EnvelopeError, load_envelopes, read_entries

RANK = {
    "name": "rank",
    "reference": "https://example.org/rank",
    "pattern": r"\[rank(?P<rank>\d+)\]: ",
    "samples": [{"line": "[rank2]: x", "tells": {"rank": 2}, "message": "x"}],
    "ignores": ["[ranks]: x"],
}
IDENTITY = {
    "name": "greeting",
    "reference": "https://example.org/greeting",
    "about": "speaker",
    "pattern": r"world size \d{1,6}",
    "captures": r"world size (?P<world_size>\d{1,6})",
    "samples": [{"line": "world size 4", "tells": {"world_size": 4}}],
    "ignores": ["world size unknown"],
}


def folder_with(path: Path, *envelopes: dict[str, Any], **files: Any) -> Path:
    """Write a folder of data files: `family.yaml` with the envelopes, and `_<name>.yaml`."""
    contents = {
        "fragments": {"word": "[a-z]+"},
        "times": [],
        "paths": [],
        "identities": [],
        **files,
    }
    for name, content in contents.items():
        (path / f"_{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    (path / "family.yaml").write_text(yaml.safe_dump(list(envelopes)), encoding="utf-8")
    return path


def changed(entry: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return an entry with other values; those that are None are left out."""
    body = {**copy.deepcopy(entry), **changes}
    return {name: value for name, value in body.items() if value is not None}


def test_a_sound_folder_is_read(tmp_path: Path) -> None:
    envelopes = load_envelopes(folder_with(tmp_path, RANK, identities=[IDENTITY]))
    assert envelopes.parse(b"[rank2]: x").source.rank == 2
    assert [entry.name for entry in envelopes.identities] == ["greeting"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (changed(RANK, name=None), "an entry has no name"),
        (changed(RANK, reference=None), "rank: no reference"),
        (changed(RANK, samples=None), "rank: no samples"),
        (changed(RANK, samples=[]), "rank: no samples"),
        (changed(RANK, ignores=None), "rank: no ignores"),
        (changed(RANK, pattern=None), "rank: no pattern"),
        (changed(RANK, colour="red"), "rank: unknown keys colour"),
        (changed(RANK, pattern="[rank"), "is not RE2: missing ]"),
        (changed(RANK, pattern=r"(?=x)\[rank"), "is not RE2: invalid perl operator"),
        (changed(RANK, pattern=r"\[(?P<rang>\d+)\]"), "rank: no field is called rang"),
        (changed(RANK, pattern="%{nothing} "), "no fragment or time format is called nothing"),
        (changed(RANK, pattern="%{time:iso} "), "no fragment or time format is called time:iso"),
        (changed(RANK, sets={"rang": "worker"}), "rank: no field is called rang"),
        (changed(RANK, follows="noon"), "rank: follows is one of start, time, level"),
        (changed(RANK, json={"rang": ["r"]}), "rank: no field is called rang"),
        (changed(RANK, samples=["[rank2]: x"]), "rank: a sample has a line"),
        (changed(RANK, samples=[{"line": "[rank2]: x", "told": {}}]), "rank: a sample has a line"),
        (changed(RANK, samples=[{"line": "rank 2"}]), "does not match its sample 'rank 2'"),
        (changed(RANK, ignores=["[rank3]: y"]), "matches what it must ignore: '[rank3]: y'"),
    ],
)
def test_a_broken_envelope_is_refused(tmp_path: Path, entry: dict[str, Any], reason: str) -> None:
    with pytest.raises(EnvelopeError) as refusal:
        load_envelopes(folder_with(tmp_path, entry))
    assert str(refusal.value).startswith("family.yaml: ")
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (changed(IDENTITY, about="nobody"), "about is one of speaker, neighbour, other, world"),
        (changed(IDENTITY, pattern=r"world size \d+"), "the pattern ends in an open repeat"),
        (changed(IDENTITY, pattern=r"world\s{1,2}size \d"), "the pattern may run over a line end"),
        (changed(IDENTITY, captures=r"(?P<size>\d)"), "no field is called size"),
        (changed(IDENTITY, excludes="("), "is not RE2: missing )"),
        (changed(IDENTITY, implies={"moons": 1}), "nothing that is counted is called moons"),
    ],
)
def test_a_broken_identity_is_refused(tmp_path: Path, entry: dict[str, Any], reason: str) -> None:
    with pytest.raises(EnvelopeError) as refusal:
        load_envelopes(folder_with(tmp_path, RANK, identities=[entry]))
    assert str(refusal.value).startswith("_identities.yaml: greeting: ")
    assert reason in str(refusal.value)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvelopeError, match=r"family\.yaml: rank: the name stands twice"):
        load_envelopes(folder_with(tmp_path, RANK, RANK))


def test_an_envelope_with_two_times_is_refused(tmp_path: Path) -> None:
    day = {
        "name": "day",
        "reference": "https://example.org/day",
        "pattern": r"(?P<hour>\d\d):(?P<minute>\d\d)",
        "samples": [{"line": "10:30"}],
        "ignores": ["10"],
    }
    night = {**day, "name": "night"}
    entry = changed(RANK, pattern="%{time:day} %{time:night}")
    with pytest.raises(EnvelopeError, match="rank: the group time stands twice"):
        load_envelopes(folder_with(tmp_path, entry, times=[day, night]))


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    (folder_with(tmp_path, RANK) / "family.yaml").write_text("- [", encoding="utf-8")
    with pytest.raises(EnvelopeError, match=r"family\.yaml: not YAML"):
        load_envelopes(tmp_path)


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    (folder_with(tmp_path, RANK) / "family.yaml").write_text("name: x", encoding="utf-8")
    with pytest.raises(EnvelopeError, match=r"family\.yaml: must be a list of entries"):
        load_envelopes(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (folder_with(tmp_path, RANK) / "_times.yaml").unlink()
    with pytest.raises(EnvelopeError, match=r"_times\.yaml: the file is missing"):
        load_envelopes(tmp_path)


def test_the_envelope_that_matches_anothers_sample_is_tried_later(tmp_path: Path) -> None:
    general = changed(
        RANK,
        name="any-word",
        pattern=r"\[(?P<role>\w+)\]: ",
        samples=[{"line": "[launcher]: x", "tells": {"role": "launcher"}}],
        ignores=["x"],
    )
    envelopes = load_envelopes(folder_with(tmp_path, general, RANK))
    assert envelopes.names(b"[rank2]: x") == ("rank",)
    assert envelopes.names(b"[launcher]: x") == ("any-word",)


def test_envelopes_that_match_each_others_samples_are_refused(tmp_path: Path) -> None:
    twin = changed(RANK, name="twin", pattern=r"\[rank(?P<local_rank>\d+)\]: ")
    with pytest.raises(EnvelopeError, match="rank, twin: match each other's samples"):
        load_envelopes(folder_with(tmp_path, RANK, twin))


def test_envelopes_of_different_places_do_not_compete(tmp_path: Path) -> None:
    twins = [changed(RANK, name=place, follows=place) for place in ("time", "level")]
    assert len(load_envelopes(folder_with(tmp_path, *twins)).envelopes) == 2


def test_every_entry_that_ships_names_its_source() -> None:
    entries = read_entries(FOLDER)
    kinds = (entries.envelopes, entries.times, entries.paths, entries.identities)
    for entry in (each for kind in kinds for each in kind):
        assert entry.reference.startswith("https://"), entry.name
