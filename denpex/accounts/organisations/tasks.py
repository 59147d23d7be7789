"""Celery tasks of evaluations: what happens when a date comes."""

from __future__ import annotations

import datetime as dt

from django.utils import timezone

from denpex.accounts.organisations import codes, reminders
from denpex.accounts.organisations.models import EvaluationRequest
from denpex.celery import app
from diagnosis.tasks import CountedTask

__all__ = ["keep_dates"]

# For so long a link says that its time has passed; then it is as if nobody had asked.
_UNPROVED_KEPT = dt.timedelta(days=30)


@app.task(base=CountedTask)
def keep_dates() -> None:
    """Remind of evaluations that end soon, close codes whose time is over, forget old requests."""
    reminders.remind()
    codes.lapse()
    expired = EvaluationRequest.objects.awaiting_proof()
    expired.filter(link_expires_at__lt=timezone.now() - _UNPROVED_KEPT).delete()
