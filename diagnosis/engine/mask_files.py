"""Reads the data files of `masks/`: what is hidden, by which shape, with the samples that prove it.

An entry has an `id`, the `source` that documents the shape, `samples` and `near_misses`, and one of
three forms:

- a token by its issuer's prefix: `prefixes`, `body` (a character class without its brackets),
  `least` and `most` (characters of the body), `suffix` (what may follow the body);
- a shape: `anchor` (a Hyperscan pattern) and `pattern` (Python's `re`), which is matched `back`
  bytes before the end of the anchor's hit; its named groups are the kinds of what they capture.
  `back` may be a range. `check` names a test of `mask_finders` that the captures must pass;
- a `finder` of `mask_finders` by name, with its `anchor` and its `words`.

`spread` says that what is found is hidden elsewhere in the paste too. A sample is a text with one
`{}` for each secret, and each secret in pieces: no whole token stands in the data files, where a
scanner of the hosting site would take it for a real one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "KINDS", "Mask", "MaskFileError", "Sample", "load_masks"]

FOLDER = Path(__file__).with_name("masks")

# What a placeholder can name: `<ip-1>`, `<token-2>`.
KINDS = ("ip", "mac", "email", "user", "password", "token", "key")

_FIELDS = (
    *("id", "kind", "source", "samples", "near_misses", "spread"),
    *("prefixes", "body", "least", "most", "suffix"),
    *("anchor", "back", "pattern", "check"),
    *("finder", "words"),
)
# Body characters that the anchor of a token asks for. More make the scan slower, fewer make idle
# hits; and a token cut by the end of its line may have fewer.
_ANCHORED_BODY = 6
# Where a token may begin: behind no letter or digit, except those of an escape, of an encoded byte
# or of a colour code that lost its first bytes.
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\dm))"
# A longer prefix, or one before a longer body, is known even where it is glued to a word.
_DISTINCT_PREFIX, _DISTINCT_BODY = 5, 30


class MaskFileError(ValueError):
    """A data file that cannot be used; the message names file, entry and reason."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line with its secrets in place, and the secrets, which must be gone when it is masked."""

    text: str
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mask:
    """One shape of what is hidden.

    `anchors` are Hyperscan patterns, each with the least and the most bytes from the start of the
    match to the end of the hit; the rest is as in the data files.
    """

    id: str
    kind: str
    source: str
    finder: str
    anchors: tuple[tuple[str, int, int], ...]
    pattern: str = ""
    least: int = 0
    body: str = ""
    check: str = ""
    spread: bool = False
    words: Mapping[str, frozenset[bytes]] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    near_misses: tuple[str, ...] = ()


def load_masks(folder: Path = FOLDER) -> tuple[Mask, ...]:
    """Return the masks of all files of `folder`, in the order of file names, ready to pickle.

    Raises MaskFileError, with file, entry and reason, for an entry that cannot be used.
    """
    masks: dict[str, Mask] = {}
    for path in sorted(folder.glob("*.yaml")):
        for body in _read_list(path):
            mask = _mask(path, body, masks)
            if mask.id in masks:
                raise MaskFileError(f"{path.name}: {mask.id}: the id stands twice")
            masks[mask.id] = mask
    return tuple(masks.values())


def _read_list(path: Path) -> list[Any]:
    import yaml  # masking itself runs without it, from a compiled cache

    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise MaskFileError(f"{path.name}: {error}") from error
    if not isinstance(entries, list):
        raise MaskFileError(f"{path.name}: must be a list of entries")
    return entries


def _mask(path: Path, body: Any, earlier: Mapping[str, Mask]) -> Mask:
    name = body.get("id", "?") if isinstance(body, dict) else "?"
    try:
        return _read_mask(body, earlier)
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise MaskFileError(f"{path.name}: {name}: {error!r}") from error


def _read_mask(body: Mapping[str, Any], earlier: Mapping[str, Mask]) -> Mask:
    if unknown := set(body).difference(_FIELDS):
        raise ValueError(f"unknown fields {sorted(unknown)}")
    if body.get("kind", "token") not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}")
    anchors, pattern, finder = _form(body)
    re.compile(pattern.encode("latin-1"))
    return Mask(
        id=body["id"],
        kind=body.get("kind", "token"),
        source=body["source"],
        finder=finder,
        anchors=anchors,
        pattern=pattern,
        least=body.get("least", 0),
        body=body.get("body", ""),
        check=body.get("check", ""),
        spread=body.get("spread", False),
        words=_words(body.get("words", {}), earlier),
        samples=tuple(_samples(body["samples"])),
        near_misses=tuple(body["near_misses"]),
    )


def _form(body: Mapping[str, Any]) -> tuple[tuple[tuple[str, int, int], ...], str, str]:
    """Return anchors, pattern and finder of the entry's form."""
    if "prefixes" in body:
        return tuple(_token_anchors(body)), _token_pattern(body), "token"
    back = body.get("back", 0)
    least, most = back if isinstance(back, list) else (back, back)
    return ((body["anchor"], least, most),), body.get("pattern", ""), body.get("finder", "shape")


def _token_anchors(body: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield two anchors for each prefix: the token's begin, and one cut short by the line's end."""
    characters, anchored = body["body"], min(body["least"], _ANCHORED_BODY)
    for prefix in body["prefixes"]:
        begin = re.escape(prefix)
        yield f"{begin}[{characters}]{{{anchored}}}", len(prefix) + anchored, len(prefix) + anchored
        yield f"{begin}[{characters}]{{0,{anchored - 1}}}$", len(prefix), len(prefix) + anchored - 1


def _token_pattern(body: Mapping[str, Any]) -> str:
    prefixes = "|".join(re.escape(prefix) for prefix in body["prefixes"])
    edge = "" if all(_is_distinct(prefix, body["least"]) for prefix in body["prefixes"]) else _EDGE
    characters, most, suffix = body["body"], body.get("most", ""), body.get("suffix", "")
    return f"{edge}(?P<prefix>{prefixes})(?P<body>[{characters}]{{0,{most}}}+{suffix})"


def _is_distinct(prefix: str, least: int) -> bool:
    return not prefix[-1].isalnum() and (len(prefix) >= _DISTINCT_PREFIX or least >= _DISTINCT_BODY)


def _words(
    words: Mapping[str, list[str]] | str, earlier: Mapping[str, Mask]
) -> Mapping[str, frozenset[bytes]]:
    """Return the lists of words, or those of the earlier mask that is named."""
    if isinstance(words, str):
        return earlier[words].words
    return {name: frozenset(str(word).encode() for word in each) for name, each in words.items()}


def _samples(samples: list[Mapping[str, Any]]) -> Iterator[Sample]:
    for sample in samples:
        secrets = tuple("".join(map(str, pieces)) for pieces in sample["secrets"])
        pieces = sample["text"].split("{}")
        if len(pieces) != len(secrets) + 1:
            raise ValueError(f"{sample['text']!r} must have one {{}} for each secret")
        text = pieces[0] + "".join(map("".join, zip(secrets, pieces[1:], strict=True)))
        yield Sample(text, secrets)
