"""Everything that an account keeps, as one file; written piece by piece, an entry at a time."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

from django.utils import timezone

from denpex.accounts.models import User
from diagnosis.history.models import HistoryEntry

__all__ = ["SCHEMA", "as_json", "as_zip"]

SCHEMA = "denpex.history/1"
_MARK_LENGTH = 8


def as_json(account: User) -> Iterator[bytes]:
    """Yield one JSON document with every entry, its verdicts and its masked log."""
    head = json.dumps(_head(account), ensure_ascii=False)
    yield f'{head[:-1]}, "entries": ['.encode()
    for number, entry in enumerate(_entries(account)):
        comma = ",\n" if number else "\n"
        log = [
            {"name": file.name, "text": file.data.decode("utf-8", "replace")}
            for file in entry.files.all()
        ]
        content = {**_about(entry), **_verdicts(entry), "log": log}
        yield f"{comma}{json.dumps(content, ensure_ascii=False)}".encode()
    yield b"\n]}\n"


def as_zip(account: User) -> Iterator[bytes]:
    """Yield a ZIP file: a folder for each entry, with its verdict and the files of its log."""
    written = _Written()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("history.json", _pretty(_head(account)))
        for entry in _entries(account):
            folder = f"{entry.created_at:%Y-%m-%d-%H%M}-{entry.pk[:_MARK_LENGTH]}"
            archive.writestr(f"{folder}/entry.json", _pretty(_about(entry)))
            archive.writestr(f"{folder}/verdict.json", entry.verdict)
            for number, earlier in enumerate(entry.earlier.all(), start=1):
                archive.writestr(f"{folder}/earlier-verdict-{number}.json", earlier.verdict)
            for file in entry.files.all():
                archive.writestr(f"{folder}/log/{file.name}", file.data)
                yield written.take()
    yield written.take()


class _Written(io.RawIOBase):
    """Holds what was written to it until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces += data
        return len(data)

    def take(self) -> bytes:
        pieces = bytes(self._pieces)
        self._pieces.clear()
        return pieces


def _entries(account: User) -> Iterator[HistoryEntry]:
    """Yield the entries, the oldest first; one that is deleted meanwhile is left out."""
    own = HistoryEntry.objects.of(account)
    for key in list(own.order_by("created_at", "pk").values_list("pk", flat=True)):
        entry = own.filter(pk=key).first()
        if entry is not None:
            yield entry


def _head(account: User) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "exported_at": timezone.now().isoformat(),
        "account": {"email": account.email, "joined_at": account.date_joined.isoformat()},
    }


def _about(entry: HistoryEntry) -> dict[str, Any]:
    return {
        "id": entry.pk,
        "pasted_at": entry.created_at.isoformat(),
        "kept_until": entry.expires_at.isoformat(),
        "asked_about": entry.asked_about or None,
        "project": entry.project,
        "note": entry.note,
        "is_shared": entry.share_key is not None,
        "masked": entry.replacements,
        "masked_in_all": entry.replaced,
    }


def _verdicts(entry: HistoryEntry) -> dict[str, Any]:
    return {
        "verdict": json.loads(entry.verdict),
        "earlier_verdicts": [json.loads(each.verdict) for each in entry.earlier.all()],
    }


def _pretty(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2)
