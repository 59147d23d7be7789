from __future__ import annotations

import datetime as dt
import json

import pytest
from django.db.models import F
from django.utils import timezone
from redis import Redis

from diagnosis import jobs, quota, store
from diagnosis.models import AllowanceEntry, Job, UnknownFailure
from diagnosis.quota import Charge, Claim
from tests.diagnosis.conftest import MakeJob

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

VERDICT = json.dumps({"outcome": "established", "primary": None})
DAY = dt.date(2026, 12, 1)
CLAIM = Claim((Charge("someone", 3),))


def taken(job: Job) -> Job:
    quota.take(job, CLAIM, DAY)
    return job


def let_lease_lapse(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(lease_until=F("lease_until") - jobs.LEASE)


def test_it_works(make_job: MakeJob) -> None:
    job = make_job()

    assert jobs.take_lease(job.pk, "one")
    assert jobs.finish(job.pk, "one", VERDICT)

    job.refresh_from_db()
    assert (job.state, job.attempts, job.lease) == ("done", 1, "")
    assert store.read_verdict(job.pk) == VERDICT


def test_held_job_is_not_taken_by_another(make_job: MakeJob) -> None:
    job = make_job()

    assert [jobs.take_lease(job.pk, lease) for lease in ("one", "two")] == [True, False]


def test_finished_job_is_not_taken_again(make_job: MakeJob) -> None:
    job = make_job(state=Job.State.DONE)

    assert not jobs.take_lease(job.pk, "one")


def test_lapsed_lease_is_taken_and_its_late_holder_may_not_answer(make_job: MakeJob) -> None:
    job = make_job()
    jobs.take_lease(job.pk, "one")
    let_lease_lapse(job)

    assert jobs.take_lease(job.pk, "two")
    assert not jobs.finish(job.pk, "one", VERDICT)

    assert store.read_verdict(job.pk) is None
    assert jobs.finish(job.pk, "two", VERDICT)


def test_fourth_attempt_is_never_made(make_job: MakeJob) -> None:
    job = make_job(attempts=3)

    assert not jobs.take_lease(job.pk, "one")


def test_unreadable_log_costs_nothing(make_job: MakeJob) -> None:
    job = taken(make_job())
    jobs.take_lease(job.pk, "one")

    jobs.finish(job.pk, "one", json.dumps({"outcome": "unreadable", "primary": None}))

    assert quota.left(CLAIM, DAY).left == 3


def test_unknown_failure_leaves_a_fingerprint_and_a_count(make_job: MakeJob) -> None:
    def summary(text: str) -> str:
        return json.dumps({"outcome": "unrecognised", "primary": {"summary": text}})

    for text in ("OddError: 17 at /home/a/b.py", "OddError: 4 at /srv/c.py", "Other: 1"):
        job = make_job()
        jobs.take_lease(job.pk, "one")
        jobs.finish(job.pk, "one", summary(text))

    assert sorted(UnknownFailure.objects.values_list("count", flat=True)) == [1, 2]
    assert "Odd" not in "".join(UnknownFailure.objects.values_list("fingerprint", flat=True))


def test_given_up_lease_lets_the_job_wait_again(make_job: MakeJob) -> None:
    job = make_job()
    jobs.take_lease(job.pk, "one")

    waiting = jobs.give_up_lease(job.pk, "one")

    assert waiting is not None
    assert (waiting.state, waiting.attempts, waiting.lease) == ("queued", 1, "")


def test_third_attempt_given_up_fails_and_refunds(make_job: MakeJob) -> None:
    job = taken(make_job(attempts=2))
    jobs.take_lease(job.pk, "one")

    assert jobs.give_up_lease(job.pk, "one") is None

    job.refresh_from_db()
    assert (job.state, job.failure_reason) == ("failed", "attempts_spent")
    assert not AllowanceEntry.objects.exists()
    assert list(Job.objects.quarantined()) == [job]


def test_lease_of_another_is_not_given_up(make_job: MakeJob) -> None:
    job = make_job(attempts=2)
    jobs.take_lease(job.pk, "one")

    assert jobs.give_up_lease(job.pk, "two") is None

    job.refresh_from_db()
    assert (job.state, job.lease) == ("running", "one")


def test_attempt_put_back_does_not_count(make_job: MakeJob) -> None:
    job = make_job()
    jobs.take_lease(job.pk, "one")

    jobs.put_back(job.pk, "one")

    job.refresh_from_db()
    assert (job.state, job.attempts) == ("queued", 0)


def test_earlier_lives_of_a_worker_are_told_from_its_present_one(make_job: MakeJob) -> None:
    for lease in ("w@one/aaaa/1", "w@one/bbbb/2", "w@one-more/cccc/3"):
        jobs.take_lease(make_job().pk, lease)

    left = jobs.left_by_predecessors("w@one", "w@one/bbbb")

    assert [lease for _, lease in left] == ["w@one/aaaa/1"]


def test_failing_refunds_once_and_frees_the_form(make_job: MakeJob) -> None:
    job = taken(make_job(submission_key="k" * 64))
    everything = Job.objects.filter(pk=job.pk)

    for _ in range(2):
        jobs.fail(everything, Job.FailureReason.LOG_LOST)

    job.refresh_from_db()
    assert (job.failure_reason, job.submission_key) == ("log_lost", None)
    assert quota.left(CLAIM, DAY).left == 3


def test_done_job_does_not_fail(make_job: MakeJob) -> None:
    job = taken(make_job(state=Job.State.DONE))

    jobs.fail(Job.objects.filter(pk=job.pk), Job.FailureReason.LOG_LOST)

    assert quota.left(CLAIM, DAY).left == 2


def test_overdue_are_those_queued_for_ten_seconds(make_job: MakeJob) -> None:
    make_job(queued_for=dt.timedelta(seconds=8))
    lost = make_job(queued_for=dt.timedelta(seconds=12))

    assert [job.pk for job in jobs.overdue()] == [lost.pk]
    assert jobs.overdue() == []  # published again just now


def test_overdue_are_those_whose_lease_lapsed(make_job: MakeJob) -> None:
    held, dead = make_job(), make_job()
    for job in (held, dead):
        jobs.take_lease(job.pk, "one")
    let_lease_lapse(dead)

    assert [job.pk for job in jobs.overdue()] == [dead.pk]

    dead.refresh_from_db()
    assert (dead.state, dead.lease) == ("queued", "")


def test_lapsed_third_attempt_fails_and_refunds(make_job: MakeJob) -> None:
    job = taken(make_job(attempts=2))
    jobs.take_lease(job.pk, "one")
    let_lease_lapse(job)

    assert jobs.overdue() == []

    job.refresh_from_db()
    assert (job.state, job.failure_reason) == ("failed", "attempts_spent")
    assert quota.left(CLAIM, DAY).left == 3


def test_job_that_waited_until_its_log_expired_fails_and_refunds(make_job: MakeJob) -> None:
    job = taken(make_job(expires_at=timezone.now() - dt.timedelta(seconds=1)))

    assert jobs.overdue() == []

    job.refresh_from_db()
    assert job.failure_reason == "log_lost"
    assert quota.left(CLAIM, DAY).left == 3


def test_delete_removes_row_log_and_verdict(make_job: MakeJob, redis: Redis) -> None:
    job = taken(make_job())
    jobs.take_lease(job.pk, "one")
    jobs.finish(job.pk, "one", VERDICT)

    assert [jobs.delete(job.pk), jobs.delete(job.pk)] == [True, False]

    assert not Job.objects.exists()
    assert not redis.keys(f"*{job.pk}*")
    # What was taken stays taken: deleting is no refund.
    assert quota.left(CLAIM, DAY).left == 2


def test_verdict_goes_when_the_log_goes(make_job: MakeJob, redis: Redis) -> None:
    job = make_job(expires_at=timezone.now() + dt.timedelta(minutes=5))
    jobs.take_lease(job.pk, "one")

    jobs.finish(job.pk, "one", VERDICT)

    assert 0 < redis.ttl(f"diagnosis:{job.pk}:verdict") <= 300


def test_place_in_line_counts_those_before_it_in_its_queue(make_job: MakeJob) -> None:
    seconds = dt.timedelta(seconds=1)
    first = make_job(queued_for=9 * seconds)
    make_job(queued_for=8 * seconds, tier="scale")
    make_job(queued_for=7 * seconds, state=Job.State.DONE)
    last = make_job(queued_for=6 * seconds, tier="verified")
    for job in (first, last):
        job.refresh_from_db()

    assert [job.place_in_line() for job in (first, last)] == [1, 2]


def test_id_cannot_be_guessed_and_is_one_word() -> None:
    ids = {Job().pk for _ in range(100)}

    assert len(ids) == 100
    assert all(len(each) == 26 and each.isalnum() for each in ids)
