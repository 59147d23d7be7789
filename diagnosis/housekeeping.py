"""What is removed when its time is over, in one table of ages."""

from __future__ import annotations

import datetime as dt

from django.contrib.sessions.models import Session
from django.utils import timezone

from diagnosis.history import keeping
from diagnosis.models import AllowanceCount, AllowanceEntry, DailySalt, Job, TaskCount
from diagnosis.visitors import today

__all__ = ["prune"]

# A job of yesterday may still fail, and then gives back what it took yesterday.
_ALLOWANCES_KEPT = dt.timedelta(days=2)
# For so long the page of an expired diagnosis says that it has expired.
_EXPIRED_JOBS_KEPT = dt.timedelta(days=7)
_TASK_COUNTS_KEPT = dt.timedelta(days=90)


def prune() -> None:
    """Remove past salts, old allowances, counts and sessions, expired jobs and old history."""
    keeping.remove_expired()
    day = today()
    DailySalt.objects.filter(day__lt=day).delete()
    AllowanceEntry.objects.filter(day__lte=day - _ALLOWANCES_KEPT).delete()
    AllowanceCount.objects.filter(day__lte=day - _ALLOWANCES_KEPT).delete()
    TaskCount.objects.filter(day__lt=day - _TASK_COUNTS_KEPT).delete()
    Job.objects.expired().filter(submission_key__isnull=False).update(submission_key=None)
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    Job.objects.filter(expires_at__lt=timezone.now() - _EXPIRED_JOBS_KEPT).delete()
