"""Jobs and their answers, for the tests of the way of a paste."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from denpex.accounts.tiers import ANONYMOUS

MakeJob = Callable[..., Any]
Answered = Callable[..., Any]
Told = Callable[..., Any]

CASES = Path(__file__).parent.parent / "cases"


def case_log(name: str) -> bytes:
    """Return the log of a case with known truth."""
    return (CASES / name / "log.txt").read_bytes()


@pytest.fixture
def make_job(db: None) -> MakeJob:
    """Make a job row: `make_job(state="done")`, or one that has been `queued_for` a while."""
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


@pytest.fixture
def answered(db: None, redis: object) -> Answered:
    """Submit a log and answer it as a worker does: `answered(text)` returns the finished job."""
    from diagnosis import jobs, store
    from diagnosis.engine import diagnose
    from diagnosis.models import Job
    from diagnosis.paste import Upload
    from diagnosis.preloaded import compiled
    from diagnosis.senders import Sender
    from diagnosis.submission import Submission, submit
    from diagnosis.visitors import Visitor

    # One after the other, since an address has so many a day.
    addresses = (f"203.0.113.{number}" for number in range(1, 255))

    def make(log: bytes, *more: bytes, asked_about: str = "") -> Job:
        uploads = tuple(Upload(f"rank_{n}.log", data) for n, data in enumerate((log, *more)))
        submission = Submission("", uploads, asked_about=asked_about)
        job = submit(submission, Sender(ANONYMOUS, Visitor(next(addresses), None)))
        assert jobs.take_lease(job.pk, "the test")
        logs = store.read_log(job.pk)
        assert logs is not None
        assert jobs.finish(job.pk, "the test", diagnose(logs, compiled()).as_json())
        job.refresh_from_db()
        return job

    return make


@pytest.fixture
def told(make_job: MakeJob, redis: object) -> Told:
    """Keep a verdict of the test's own making: `told(verdict, log)` returns the finished job.

    It answers the `job` that is given, if any.
    """
    from diagnosis import store
    from diagnosis.engine import LogFile
    from diagnosis.engine.masking import mask
    from diagnosis.models import Job

    def make(verdict: dict[str, Any], *logs: bytes, job: Job | None = None) -> Job:
        job = job or make_job()
        names = ["log.txt", *(f"rank_{n}.log" for n in range(1, len(logs)))]
        files = [LogFile(name, log) for name, log in zip(names, logs, strict=True)]
        store.keep_log(job.pk, mask(files), 60)
        store.keep_verdict(job.pk, json.dumps(verdict), 60)
        Job.objects.filter(pk=job.pk).update(state="done")
        return job

    return make
