from __future__ import annotations

import pytest
from django.apps import apps
from redis import Redis

from denpex.accounts.tiers import ANONYMOUS
from diagnosis import jobs, quota, submission
from diagnosis.models import Job
from diagnosis.paste import Upload
from diagnosis.quota import AllowanceSpentError
from diagnosis.senders import Sender
from diagnosis.submission import Submission, submit
from diagnosis.visitors import Visitor
from tests.diagnosis.conftest import Answered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

SENDER = Sender(ANONYMOUS, Visitor("203.0.113.7", "one"))
LOG = "[rank2]: zephyr.loom.TangledStrandError: strand crosses itself at 203.0.113.9\n"


def test_it_works() -> None:
    job = submit(Submission(LOG), SENDER)

    assert job.state == Job.State.QUEUED
    assert job.allowance_entry.subjects


def test_database_never_sees_log_text(answered: Answered) -> None:
    job = answered(LOG.encode())
    jobs.take_lease(job.pk, "again")

    rows = [str(row) for model in apps.get_models() for row in model._default_manager.values()]
    everything = " ".join(rows)
    assert job.pk in everything
    for piece in ("Tangled", "zephyr", "strand", "203.0.113"):
        assert piece not in everything


def test_store_keeps_nothing_unmasked(redis: Redis) -> None:
    job = submit(Submission("", (Upload("a.log", LOG.encode()),)), SENDER)

    from diagnosis import store

    logs = store.read_log(job.pk)
    assert logs is not None
    assert b"203.0.113.9" not in bytes(logs[0].data)


def test_allowance_lost_to_another_request_leaves_no_log(
    monkeypatch: pytest.MonkeyPatch, redis: Redis
) -> None:
    """The last one may be taken by someone else while this log is being masked."""

    def taken_meanwhile(*_args: object) -> None:
        raise AllowanceSpentError(quota.Allowance(3, 0, job_time))

    job_time = submit(Submission(LOG), SENDER).expires_at
    monkeypatch.setattr(quota, "take", taken_meanwhile)

    with pytest.raises(AllowanceSpentError):
        submit(Submission(LOG + "more"), SENDER)

    assert Job.objects.count() == 1
    assert len(redis.keys("diagnosis:*:log")) == 1


def test_refused_log_is_not_even_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        submit(Submission(f"{LOG}{number}"), SENDER)
    monkeypatch.setattr(submission, "mask", lambda _logs: pytest.fail("masked for nothing"))

    with pytest.raises(AllowanceSpentError):
        submit(Submission(LOG), SENDER)


def test_failed_job_does_not_answer_for_a_new_click() -> None:
    again = Submission(LOG, nonce="0123456789abcdef")
    first = submit(again, SENDER)
    jobs.fail(Job.objects.filter(pk=first.pk), Job.FailureReason.LOG_LOST)

    assert submit(again, SENDER).pk != first.pk
