"""How a verdict and its masked log come into the history of an account, and when they go."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import OperationalError
from django.db.models import F
from django.db.models.functions import Now

from denpex.accounts.models import User
from denpex.accounts.standing import tier_of
from denpex.accounts.tiers import ANONYMOUS, TIERS, Entitlement, Tier
from diagnosis import store, unknowns
from diagnosis.discretion import quoting_nothing
from diagnosis.history.models import HistoryEntry, HistoryFile
from diagnosis.models import Job

__all__ = ["columns_of", "keep", "remove_expired", "time_in_store"]

# A log may name what no run has, and what no column holds.
_LARGEST_RANK = 2**31 - 1


def time_in_store(tier: Tier) -> dt.timedelta:
    """Return how long the store keeps a log: only until its verdict, where a history takes it."""
    if tier.may(Entitlement.HISTORY):
        return min(tier.keep_for, ANONYMOUS.keep_for)
    return tier.keep_for


def keep(job: Job, verdict: str, content: Mapping[str, Any]) -> bool:
    """Write verdict and masked log of a job into the history of its account; say whether it did.

    Stands inside the transaction that finishes the job. Nothing is written where the tier keeps no
    history, or the store lost the log. What the database says of a row it refuses may quote it, and
    is told without.
    """
    if job.account_id is None or not TIERS[job.tier].may(Entitlement.HISTORY):
        return False
    packed = store.read_packed(job.pk)
    if packed is None:
        return False
    with quoting_nothing(except_for=(OperationalError,)):
        entry = HistoryEntry.objects.create(
            id=job.pk,
            account_id=job.account_id,
            created_at=job.created_at,
            expires_at=job.expires_at,
            log_digest=job.log_digest,
            asked_about=job.asked_about,
            verdict=verdict,
            replacements=[asdict(each) for each in packed.about.replacements],
            replaced=packed.about.replaced,
            **columns_of(content),
        )
        HistoryFile.objects.bulk_create(
            HistoryFile(
                entry=entry,
                number=number,
                name=file.name,
                lines=file.lines,
                size=file.size,
                packed=data,
            )
            for number, (file, data) in enumerate(
                zip(packed.about.files, packed.files, strict=True)
            )
        )
    return True


def columns_of(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return what lists and filters ask of a verdict, as columns of its entry."""
    primary = verdict["primary"] or {}
    failure = primary.get("failure") or {}
    rank = primary.get("rank")
    is_unknown = verdict["outcome"] == "unrecognised"
    return {
        "outcome": verdict["outcome"],
        "failure": failure.get("slug", ""),
        "category": failure.get("category", ""),
        "title": failure.get("title", ""),
        "summary": _storable(primary.get("summary")),
        "fingerprint": unknowns.fingerprint(verdict) if is_unknown else "",
        "rank": rank if rank is not None and rank <= _LARGEST_RANK else None,
        "host": _storable(primary.get("host")),
        "engine": verdict["engine"]["fingerprint"],
    }


def _storable(text: str | None) -> str:
    """Return what a verdict quotes without the one character that PostgreSQL does not take."""
    return (text or "").replace("\x00", "")


def remove_expired() -> None:
    """Remove what is older than the account's tier keeps.

    Nothing goes earlier than was promised when it was pasted; what a higher tier of today keeps
    longer stays.
    """
    expired = HistoryEntry.objects.expired()
    for account in User.objects.filter(pk__in=expired.values("account")):
        keep_for = tier_of(account).keep_for
        own = expired.filter(account=account)
        own.filter(created_at__lte=Now() - keep_for).delete()
        own.update(expires_at=F("created_at") + keep_for)
