"""What the overview of an account shows of its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from denpex.accounts.models import User
from diagnosis.history import listing, recurrences
from diagnosis.history.models import HistoryEntry
from diagnosis.history.recurrences import Recurrence

__all__ = ["Overview", "Returning", "of"]

_NEWEST = 5
_RETURNING = 5


@dataclass(frozen=True, slots=True)
class Returning:
    """A failure that came more than once: its newest entry, and the query that lists all."""

    newest: HistoryEntry
    recurrence: Recurrence
    query: str


@dataclass(frozen=True, slots=True)
class Overview:
    """The newest entries of a history, what keeps coming back, and how many entries there are."""

    count: int
    newest: Sequence[HistoryEntry]
    recurrences: Mapping[str, Recurrence]
    returning: Sequence[Returning]


def of(account: User) -> Overview:
    """Return the overview of an account's history."""
    own = HistoryEntry.objects.of(account)
    newest = list(own.listed()[:_NEWEST])
    return Overview(
        count=own.count(),
        newest=newest,
        recurrences=recurrences.of_entries(account, newest),
        returning=tuple(
            Returning(entry, recurrence, listing.query_of(entry))
            for entry, recurrence in recurrences.most_frequent(account, _RETURNING)
        ),
    )
