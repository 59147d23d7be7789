from __future__ import annotations

import pytest

from diagnosis.engine.mask_files import FOLDER, KINDS, MaskFileError, load_masks
from diagnosis.engine.mask_finders import CHECKS, FINDERS
from diagnosis.engine.masking import Masker, mask
from diagnosis.engine.text import LogFile

MASKS = load_masks()
SAMPLES = [(each, sample) for each in MASKS for sample in each.samples]
NEAR_MISSES = [(each, near_miss) for each in MASKS for near_miss in each.near_misses]


def masked_text(text: str) -> str:
    return mask([LogFile("log", text.encode())]).logs[0].data.decode()


@pytest.mark.parametrize(
    ("each", "sample"), SAMPLES, ids=[f"{each.id}: {sample.text[:40]}" for each, sample in SAMPLES]
)
def test_sample_loses_its_secrets_and_nothing_else(each, sample):
    masked = masked_text(sample.text)

    for secret in sample.secrets:
        assert secret not in masked
        pieces = {secret[at : at + 8] for at in range(len(secret) - 7)}
        assert not [piece for piece in pieces if piece in masked]
    kept = sample.text
    for secret in sample.secrets:
        kept = kept.replace(secret, "\0")
    assert all(piece in masked for piece in kept.split("\0"))


@pytest.mark.parametrize(
    ("each", "near_miss"),
    NEAR_MISSES,
    ids=[f"{each.id}: {line[:40]}" for each, line in NEAR_MISSES],
)
def test_near_miss_stays(each, near_miss):
    assert masked_text(near_miss) == near_miss


def test_each_mask_names_its_source_and_what_the_program_knows():
    for each in MASKS:
        assert each.source.startswith("https://")
        assert each.kind in KINDS
        assert each.finder in {*FINDERS, "ip_v4", "version"}
        assert each.check in CHECKS


def test_each_mask_has_a_sample_and_a_near_miss():
    # The version hits hide nothing: they are proved by the near misses of the addresses.
    assert [each.id for each in MASKS if not each.samples] == ["version-like-ip"]
    without = [each.id for each in MASKS if not each.near_misses]
    assert without == ["aws-secret-beside-its-id", "version-like-ip"]


def test_each_mask_finds_its_own_samples():
    for each in MASKS:
        if each.samples:
            alone = Masker([each])
            for sample in each.samples:
                masked = alone.mask([LogFile("log", sample.text.encode())])
                assert masked.replacements, (each.id, sample.text)


def test_no_sample_stands_whole_in_the_data_files():
    data = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yaml"))
    tokens = (each for each in MASKS if each.finder == "token")
    whole = [secret for each in tokens for sample in each.samples for secret in sample.secrets]

    assert whole
    assert [secret for secret in whole if secret in data] == []


BROKEN = {
    "not a list": ("id: x", "must be a list"),
    "not YAML": ("- id: [", "x.yaml"),
    "no id": ("- {source: 'https://x', prefixes: [a_], body: a, least: 9}", "?"),
    "unknown field": ("- {id: x, sauce: y}", "unknown fields ['sauce']"),
    "unknown kind": ("- {id: x, kind: card}", "kind must be one of"),
    "no sample": (
        "- {id: x, source: 'https://x', prefixes: [a_], body: a, least: 9, near_misses: []}",
        "samples",
    ),
    "bad pattern": (
        "- {id: x, source: 'https://x', anchor: a, pattern: '(', samples: [], near_misses: []}",
        "x.yaml: x:",
    ),
    "slots and secrets differ": (
        "- {id: x, source: u, anchor: a, near_misses: [], samples: [{text: '{}', secrets: []}]}",
        "one {} for each secret",
    ),
    "unknown words": (
        "- {id: x, source: 'https://x', anchor: a, words: y, samples: [], near_misses: []}",
        "KeyError('y')",
    ),
    "id twice": (
        "- &x {id: x, source: 'https://x', anchor: a, samples: [], near_misses: []}\n- *x",
        "the id stands twice",
    ),
}


@pytest.mark.parametrize(("content", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_refused_with_file_entry_and_reason(tmp_path, content, reason):
    (tmp_path / "x.yaml").write_text(content, encoding="utf-8")

    with pytest.raises(MaskFileError, match=r"x\.yaml") as refusal:
        load_masks(tmp_path)

    assert reason in str(refusal.value)
