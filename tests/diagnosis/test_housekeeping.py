from __future__ import annotations

import datetime as dt

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from diagnosis import housekeeping, visitors
from diagnosis.models import AllowanceCount, AllowanceEntry, DailySalt, Job, TaskCount
from tests.diagnosis.conftest import MakeJob

pytestmark = pytest.mark.django_db


def test_prune_keeps_what_its_time_is_not_over_for(make_job: MakeJob) -> None:
    today = visitors.today()
    days = [today - dt.timedelta(days=age) for age in (0, 1, 2, 91)]
    for day in days:
        DailySalt.objects.create(day=day, salt=b"salt")
        AllowanceCount.objects.create(day=day, subject="someone", used=1)
        AllowanceEntry.objects.create(job=make_job(), day=day, subjects=["someone"])
        TaskCount.objects.create(day=day, task="a task", event="done", count=1)

    housekeeping.prune()

    def kept(model: type) -> list[dt.date]:
        return list(model.objects.order_by("-day").values_list("day", flat=True))  # type: ignore[attr-defined]

    assert kept(DailySalt) == days[:1]
    assert kept(AllowanceCount) == days[:2]
    assert kept(AllowanceEntry) == days[:2]
    assert kept(TaskCount) == days[:3]


def test_prune_keeps_the_mark_of_an_expired_job_for_a_week(make_job: MakeJob) -> None:
    now = timezone.now()
    live = make_job(submission_key="a" * 64)
    expired = make_job(submission_key="b" * 64, expires_at=now - dt.timedelta(hours=1))
    make_job(expires_at=now - dt.timedelta(days=8))

    housekeeping.prune()

    assert set(Job.objects.values_list("pk", "submission_key")) == {
        (live.pk, "a" * 64),
        (expired.pk, None),
    }


def test_prune_removes_sessions_that_expired() -> None:
    now = timezone.now()
    for name, age in (("live", -1), ("expired", 1)):
        Session.objects.create(session_key=name, expire_date=now - dt.timedelta(hours=age))

    housekeeping.prune()

    assert [session.session_key for session in Session.objects.all()] == ["live"]
