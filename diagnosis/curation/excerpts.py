"""Masked excerpts for curators: of accounts that let them, and for as long as they do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.curation.models import ExcerptConsent
from diagnosis.engine import LogFile
from diagnosis.engine.text import prepare
from diagnosis.history.models import HistoryEntry, HistoryEntryQuerySet

__all__ = ["Excerpt", "allowed", "of_entry", "of_unknown"]

_LINES_AROUND = 12
_CHARACTERS = 400
_BYTES = 1 << 18
_EXCERPTS = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What a log says around its proof: a name, and lines with their numbers."""

    file: str
    lines: Sequence[tuple[int, str]]


def of_unknown(fingerprint: str) -> Sequence[Excerpt]:
    """Return the newest excerpts of an unrecognised failure that may be read."""
    entries = allowed().filter(fingerprint=fingerprint).order_by("-created_at")[:_EXCERPTS]
    return [excerpt for entry in entries for excerpt in of_entry(entry)]


def of_entry(entry: HistoryEntry) -> Iterable[Excerpt]:
    """Yield the lines around the first proof of a verdict; nothing where it has none."""
    primary: Mapping[str, Any] = json.loads(entry.verdict)["primary"] or {}
    for proof in primary.get("evidence", ())[:1]:
        file = entry.files.filter(name=proof["file"]).first()
        if file is not None:
            yield Excerpt(file.name, _lines_around(file.data, proof["line"]))


def allowed() -> HistoryEntryQuerySet:
    """Select the entries whose accounts let curators read excerpts of them."""
    consenting = ExcerptConsent.objects.values("account")
    return HistoryEntry.objects.all().filter(account__in=consenting)


def _lines_around(data: bytes, line: int) -> Sequence[tuple[int, str]]:
    text = prepare(LogFile("", data))
    first, last = max(line - _LINES_AROUND, 1), min(line + _LINES_AROUND, text.lines)
    start = text.offset_of_line(first)
    shown = text.counted[start : start + _BYTES].split(b"\n")[: last - first + 1]
    return [
        (number, each.decode("utf-8", "replace")[:_CHARACTERS])
        for number, each in enumerate(shown, start=first)
    ]
