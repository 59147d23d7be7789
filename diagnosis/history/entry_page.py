"""What the page of a verdict says of its place in the owner's history."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.urls import reverse

from diagnosis.history import listing, recurrences
from diagnosis.history.models import HistoryEntry
from diagnosis.history.recurrences import Recurrence
from diagnosis.history.reruns import MAX_TRIES
from diagnosis.preloaded import compiled
from diagnosis.presentation import OUTCOMES

__all__ = ["Change", "EntryPage", "Said", "present", "said"]


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict in a few words."""

    outcome: str
    title: str
    place: str

    @property
    def words(self) -> str:
        """What it names, and where."""
        return ", ".join(part for part in (self.title, self.place) if part)


@dataclass(frozen=True, slots=True)
class Change:
    """What a re-run changed, and when."""

    old: Said
    new: Said
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class EntryPage:
    """An entry as its owner sees it. `rerun` says where one stands: waiting, failed or "".

    `same_failure` is the query that lists its kind, `pasted_before` is when the same log was first
    pasted, `share_address` is "" where nobody else may read the entry, and `projects` are the
    labels that the owner uses.
    """

    entry: HistoryEntry
    recurrence: Recurrence | None
    same_failure: str
    pasted_before: dt.datetime | None
    changes: Sequence[Change]
    share_address: str
    may_be_read_again: bool
    rerun: str
    projects: Sequence[str]


def present(entry: HistoryEntry) -> EntryPage:
    """Put an entry into the words of its page."""
    own = HistoryEntry.objects.of(entry.account)
    same_log = own.filter(log_digest=entry.log_digest, created_at__lt=entry.created_at)
    projects = own.exclude(project="").order_by("project").values_list("project", flat=True)
    fingerprint = compiled().fingerprint
    return EntryPage(
        entry=entry,
        recurrence=recurrences.of_entries(entry.account, [entry]).get(entry.pk),
        same_failure=listing.query_of(entry),
        pasted_before=same_log.order_by("created_at").values_list("created_at", flat=True).first(),
        changes=tuple(_changes(entry)),
        share_address=_share_address(entry),
        may_be_read_again=entry.engine != fingerprint,
        rerun=_rerun(entry, fingerprint),
        projects=list(projects.distinct()),
    )


def said(verdict: Mapping[str, Any]) -> Said:
    """Return what a verdict says, in a few words."""
    primary = verdict["primary"] or {}
    rank, host = primary.get("rank"), primary.get("host")
    places = ("" if rank is None else f"rank {rank}", f"on {host}" if host else "")
    return Said(
        outcome=OUTCOMES[verdict["outcome"]].words,
        title=(primary.get("failure") or {}).get("title", ""),
        place=" ".join(place for place in places if place),
    )


def _changes(entry: HistoryEntry) -> Iterable[Change]:
    """Return what re-runs changed, the newest change first."""
    versions = [(entry.verdict, entry.read_at)]
    versions += [(each.verdict, each.made_at) for each in entry.earlier.all()]
    for (new, at), (old, _) in pairwise(versions):
        yield Change(said(json.loads(old)), said(json.loads(new)), at)


def _share_address(entry: HistoryEntry) -> str:
    if not entry.share_key:
        return ""
    return f"{settings.DENPEX_ORIGIN}{reverse('verdict', args=[entry.share_key])}"


def _rerun(entry: HistoryEntry, fingerprint: str) -> str:
    if entry.rerun_asked_at is None:
        return ""
    given_up = entry.tried_with == fingerprint and entry.tries >= MAX_TRIES
    return "failed" if given_up else "waiting"
