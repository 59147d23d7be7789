"""Jobs and answers for the tests of a paste's way."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from denpex.accounts.tiers import ANONYMOUS

MakeJob = Callable[..., Any]


@pytest.fixture
def make_job(db: None) -> MakeJob:
    """Make a job row: `make_job(state="done")`; times are given as `queued_for=dt.timedelta(...)`."""
    from diagnosis.models import Job

    def make(queued_for: dt.timedelta = dt.timedelta(), **fields: object) -> Job:
        defaults = {
            "tier": ANONYMOUS.key,
            "log_digest": "0" * 64,
            "expires_at": timezone.now() + ANONYMOUS.keep_for,
        }
        job = Job.objects.create(**defaults | fields)
        if queued_for:
            Job.objects.filter(pk=job.pk).update(
                created_at=timezone.now() - queued_for, published_at=timezone.now() - queued_for
            )
        return job

    return make
