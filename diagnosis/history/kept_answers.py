"""The answer to a diagnosis, read from the history of an account."""

from __future__ import annotations

from denpex.accounts.models import User
from diagnosis.answers import Answer
from diagnosis.engine.masking import Replacement
from diagnosis.history.models import HistoryEntry
from diagnosis.store import KeptFile, KeptLog

__all__ = ["find", "of_entry"]


def find(account: User | None, key: str) -> Answer | None:
    """Return what `account` keeps under this id, or what somebody shares under this key."""
    own = None if account is None else HistoryEntry.objects.of(account).filter(pk=key).first()
    if own is not None:
        return of_entry(own)
    shared = HistoryEntry.objects.shared(key).first()
    return None if shared is None else of_entry(shared, shared=True)


def of_entry(entry: HistoryEntry, *, shared: bool = False) -> Answer:
    """Return the answer of an entry; a shared one says nothing of the account it is of."""
    about = entry.files.order_by("number").values_list("name", "lines", "size")
    return Answer(
        id=(entry.share_key or "") if shared else entry.pk,
        json=entry.verdict,
        about=KeptLog(
            files=tuple(KeptFile(*each) for each in about),
            replacements=tuple(Replacement(**each) for each in entry.replacements),
            replaced=entry.replaced,
        ),
        read_file=lambda number: _read_file(entry, number),
        asked_about="" if shared else entry.asked_about,
        expires_at=entry.expires_at,
        owned=not shared,
        shared=shared,
    )


def _read_file(entry: HistoryEntry, number: int) -> bytes | None:
    file = entry.files.filter(number=number).first()
    return None if file is None else file.data
