"""Deleting an account with everything: rows, sessions, and what the store still holds of it."""

from __future__ import annotations

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction

from denpex.accounts.models import User
from diagnosis import store

__all__ = ["delete_account"]


def delete_account(account: User) -> None:
    """Remove the account and all that is its own.

    Raises StoreUnavailableError, and then the account stays. Its jobs are locked before itself, as
    a worker that finishes one locks them; who adds to the account afterwards fails.
    """
    with transaction.atomic():
        list(account.jobs.select_for_update().values_list("pk"))
        User.objects.select_for_update().get(pk=account.pk)
        jobs = list(account.jobs.values_list("pk", flat=True))
        _end_sessions(account)
        account.delete()
        for job_id in jobs:
            store.delete(job_id)


def _end_sessions(account: User) -> None:
    """Remove the sessions of all its browsers: they name the account, and its address."""
    own = str(account.pk)
    sessions = Session.objects.iterator()
    keys = [each.pk for each in sessions if each.get_decoded().get(SESSION_KEY) == own]
    Session.objects.filter(pk__in=keys).delete()
