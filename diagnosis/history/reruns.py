"""Kept logs read again with today's catalogue: when their owner asks, and unknown ones by itself.

A re-run costs no allowance, since each log can be read once by each catalogue.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Now

from denpex.accounts.models import User
from denpex.mail import outbox
from diagnosis.discretion import quoting_nothing
from diagnosis.engine import Compiled, LogFile, diagnose
from diagnosis.history.keeping import columns_of
from diagnosis.history.models import EarlierVerdict, HistoryEntry, HistoryFile

__all__ = ["MAX_TRIES", "ask", "due", "owed", "read_again", "tell_owners"]

logger = logging.getLogger(__name__)

# A log that ended the worker so often is left alone until the catalogue changes.
MAX_TRIES = 3
# Longer than a task may take: who began a try so long ago is dead.
_TRY = dt.timedelta(seconds=20)
_AT_ONCE = 100
_NAMED_IN_A_MAIL = 10


def ask(entry: HistoryEntry, fingerprint: str) -> bool:
    """Note that the owner wants the log read again; say whether there is anything to read."""
    unread = HistoryEntry.objects.filter(pk=entry.pk).exclude(engine=fingerprint)
    return unread.update(rerun_asked_at=Now()) == 1


def owed(fingerprint: str) -> QuerySet[HistoryEntry]:
    """Select what this catalogue should still read: unknown logs, and what owners asked for."""
    wanted = Q(outcome="unrecognised") | Q(rerun_asked_at__isnull=False)
    given_up = Q(tried_with=fingerprint, tries__gte=MAX_TRIES)
    return HistoryEntry.objects.filter(wanted).exclude(engine=fingerprint).exclude(given_up)


def due(fingerprint: str) -> Sequence[str]:
    """Return the ids of some that nobody reads at the moment."""
    idle = owed(fingerprint).filter(_IDLE).order_by(F("rerun_asked_at").asc(nulls_last=True), "pk")
    return list(idle.values_list("pk", flat=True)[:_AT_ONCE])


def read_again(entry_id: str, compiled: Compiled) -> None:
    """Read a kept log again, where that is due, and write down what it gave.

    The try is counted before it begins, so that a log which ends the worker is not read without
    end. Raises EngineError.
    """
    begun = (
        owed(compiled.fingerprint)
        .filter(_IDLE, pk=entry_id)
        .update(
            tries=Case(
                When(tried_with=compiled.fingerprint, then=F("tries") + 1), default=Value(1)
            ),
            tried_with=compiled.fingerprint,
            tried_at=Now(),
        )
    )
    if not begun:
        logger.info("rerun_not_due")
        return
    with quoting_nothing():
        files = HistoryFile.objects.filter(entry=entry_id)
        logs = [LogFile(file.name, file.data) for file in files]
        verdict = diagnose(logs, compiled).as_json()
        changed = _replace(entry_id, verdict)
    logger.info("rerun_done", extra={"changed": changed})


def tell_owners(fingerprint: str) -> None:
    """Write to accounts whose unknown failures are known now: one mail, once all are read."""
    untold = HistoryEntry.objects.filter(owner_is_to_be_told=True)
    for account in User.objects.filter(pk__in=untold.values("account")):
        if owed(fingerprint).filter(account=account, outcome="unrecognised").exists():
            continue
        with transaction.atomic():
            entries = list(untold.filter(account=account).select_for_update(skip_locked=True))
            HistoryEntry.objects.filter(pk__in=[entry.pk for entry in entries]).update(
                owner_is_to_be_told=False
            )
            _write_to(account, entries)


_IDLE = Q(tried_at__isnull=True) | Q(tried_at__lte=Now() - _TRY)


def _replace(entry_id: str, verdict: str) -> bool:
    """Give the entry its new verdict; say whether it says anything else than the old one."""
    content: Mapping[str, Any] = json.loads(verdict)
    with transaction.atomic():
        entry = HistoryEntry.objects.select_for_update().filter(pk=entry_id).first()
        if entry is None:
            return False
        changed = _said(json.loads(entry.verdict)) != _said(content)
        if changed:
            EarlierVerdict.objects.create(entry=entry, verdict=entry.verdict, made_at=entry.read_at)
        columns = columns_of(content)
        became_known = entry.outcome == "unrecognised" and bool(columns["failure"])
        HistoryEntry.objects.filter(pk=entry_id).update(
            **columns,
            verdict=verdict,
            read_at=Now(),
            rerun_asked_at=None,
            tried_at=None,
            owner_is_to_be_told=entry.owner_is_to_be_told or became_known,
        )
    return changed


def _said(verdict: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a verdict without the stamp of who made it."""
    return {key: value for key, value in verdict.items() if key != "engine"}


def _write_to(account: User, entries: Sequence[HistoryEntry]) -> None:
    """Post the mail, to an address that is surely the owner's; else the history alone tells."""
    address = EmailAddress.objects.filter(user=account, primary=True, verified=True).first()
    if address is None or not entries:
        return
    ctx = {
        "email": address.email,
        "entries": entries[:_NAMED_IN_A_MAIL],
        "count": len(entries),
        "more": len(entries) - _NAMED_IN_A_MAIL,
    }
    outbox.post("unknown_now_known", address.email, ctx, account)
