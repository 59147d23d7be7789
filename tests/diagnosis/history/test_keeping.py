from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from redis import Redis

from denpex.accounts.models import Grant, User
from denpex.accounts.standing import tier_of
from diagnosis import housekeeping, jobs, store
from diagnosis.discretion import EngineError
from diagnosis.engine import diagnose
from diagnosis.history import keeping
from diagnosis.history.models import HistoryEntry, HistoryFile
from diagnosis.models import Job
from diagnosis.paste import Upload
from diagnosis.preloaded import compiled
from diagnosis.senders import Sender
from diagnosis.submission import Submission, submit
from diagnosis.visitors import Visitor
from tests.diagnosis.conftest import Answered
from tests.diagnosis.history.conftest import DISK_FULL, ODD, Diagnosed, browser_of

pytestmark = pytest.mark.django_db


def aged(entry: HistoryEntry, days: int, kept_for: int) -> HistoryEntry:
    """Let an entry be so old, and promised for so long."""
    created = timezone.now() - dt.timedelta(days=days)
    HistoryEntry.objects.filter(pk=entry.pk).update(
        created_at=created, expires_at=created + dt.timedelta(days=kept_for)
    )
    return entry


def test_it_works(alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice)

    assert entry.account == alice
    assert (entry.outcome, entry.category) == ("established", "storage")
    assert entry.failure == "disk-full-during-checkpoint-save"
    assert (entry.rank, entry.fingerprint) == (0, "")
    assert [file.name for file in entry.files.all()] == ["run.log"]
    assert b"unexpected pos" in entry.files.get().data
    assert entry.expires_at - entry.created_at > dt.timedelta(days=364)


def test_verdict_and_log_move_out_of_the_store(
    alice: User, diagnosed: Diagnosed, redis: Redis, django_capture_on_commit_callbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        entry = diagnosed(alice)

    assert not redis.keys(f"diagnosis:{entry.pk}*")
    assert HistoryFile.objects.get().packed != DISK_FULL


def test_a_visitors_log_never_comes_into_the_database(answered: Answered) -> None:
    job = answered(DISK_FULL)

    assert store.read_verdict(job.pk)
    assert not HistoryEntry.objects.exists()
    assert not HistoryFile.objects.exists()


def test_the_page_lasts_as_long_as_the_entry(
    alice: User, diagnosed: Diagnosed, redis: Redis
) -> None:
    entry = diagnosed(alice)
    before = browser_of(alice).get(f"/d/{entry.pk}.json").content
    Job.objects.all().delete()
    redis.flushall()

    browser = browser_of(alice)
    page = browser.get(f"/d/{entry.pk}/")

    assert page.status_code == 200
    assert "unexpected pos" in page.text
    assert browser.get(f"/d/{entry.pk}.json").content == before
    assert "unexpected pos" in browser.get(f"/d/{entry.pk}/log/1.txt").text
    assert browser.get(f"/d/{entry.pk}/log/2.txt").status_code == 404


@pytest.mark.parametrize("form", ["/", ".json", ".md"])
def test_a_verdict_that_is_kept_while_it_is_asked_for_is_shown(
    alice: User, redis: Redis, django_capture_on_commit_callbacks, form: str
) -> None:
    """The page looks into the history before the verdict is there, and at the job after that."""
    sender = Sender(tier_of(alice), Visitor("203.0.113.9", None), alice)
    job = submit(Submission("", (Upload("run.log", ODD),)), sender)
    assert jobs.take_lease(job.pk, "the test")
    verdict = diagnose(store.read_log(job.pk) or (), compiled()).as_json()
    finished: list[bool] = []

    def finish_before_the_job_is_read(execute, sql, params, many, context):
        if sql.startswith("SELECT") and 'FROM "diagnosis_job"' in sql and not finished:
            finished.append(True)
            with django_capture_on_commit_callbacks(execute=True):
                assert jobs.finish(job.pk, "the test", verdict)
        return execute(sql, params, many, context)

    browser = browser_of(alice)
    with connection.execute_wrapper(finish_before_the_job_is_read):
        response = browser.get(f"/d/{job.pk}{form}")

    assert finished
    assert response.status_code == 200
    assert "QuokkaError" in response.text


def test_an_unknown_failure_is_kept_by_its_fingerprint(alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice, ODD)

    assert (entry.outcome, entry.failure, entry.rank) == ("unrecognised", "", 1)
    assert len(entry.fingerprint) == 64


def test_a_log_that_the_store_lost_is_not_kept(alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice)
    job = Job.objects.get()
    HistoryEntry.objects.all().delete()
    store.delete(job.pk)

    assert not keeping.keep(job, entry.verdict, {"outcome": "no_failure"})
    assert not HistoryEntry.objects.exists()


def test_a_row_that_the_database_refuses_is_not_quoted(alice: User, diagnosed: Diagnosed) -> None:
    """PostgreSQL says "failing row contains", and then a piece of the verdict."""
    entry = diagnosed(alice, ODD)
    job = Job.objects.get()
    HistoryEntry.objects.all().delete()
    job.created_at = None  # type: ignore[assignment]
    verdict = {
        "outcome": "unrecognised",
        "primary": {"summary": "quokka"},
        "engine": {"fingerprint": "f"},
    }

    with pytest.raises(EngineError) as raised:
        keeping.keep(job, entry.verdict, verdict)

    assert "quokka" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_what_no_column_holds_is_left_out() -> None:
    primary = {"summary": "a\x00b", "host": "h\x00", "rank": 10**30, "failure": None}
    verdict = {"outcome": "unrecognised", "primary": primary, "engine": {"fingerprint": "f"}}

    columns = keeping.columns_of(verdict)

    assert (columns["summary"], columns["host"], columns["rank"]) == ("ab", "h", None)


def test_what_is_older_than_the_tier_keeps_is_removed(alice: User, diagnosed: Diagnosed) -> None:
    Grant.objects.all().delete()
    young, old = diagnosed(alice), diagnosed(alice, ODD)
    aged(young, days=29, kept_for=30)
    aged(old, days=31, kept_for=30)

    assert browser_of(alice).get(f"/d/{old.pk}/log/1.txt").status_code == 404
    housekeeping.prune()

    assert list(HistoryEntry.objects.all()) == [young]
    assert HistoryFile.objects.count() == 1


def test_a_higher_tier_of_today_keeps_longer(alice: User, diagnosed: Diagnosed) -> None:
    entry = aged(diagnosed(alice), days=31, kept_for=30)

    housekeeping.prune()

    entry.refresh_from_db()
    assert entry.expires_at - entry.created_at == dt.timedelta(days=365)
    assert browser_of(alice).get(f"/d/{entry.pk}/").status_code == 200


def test_nothing_goes_earlier_than_was_promised(alice: User, diagnosed: Diagnosed) -> None:
    entry = aged(diagnosed(alice), days=200, kept_for=365)
    Grant.objects.all().delete()

    housekeeping.prune()

    assert HistoryEntry.objects.filter(pk=entry.pk).exists()


def test_deleting_the_job_deletes_the_entry(alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice)

    assert browser_of(alice).post(f"/d/{entry.pk}/delete/").status_code == 303

    assert not HistoryEntry.objects.exists()
    assert not HistoryFile.objects.exists()
    assert not jobs.delete(entry.pk)


def test_an_entry_can_be_deleted_when_its_job_is_forgotten(
    alice: User, bob: User, diagnosed: Diagnosed
) -> None:
    entry = diagnosed(alice)
    Job.objects.all().delete()

    for browser in (browser_of(bob), Client()):
        assert browser.post(f"/d/{entry.pk}/delete/").status_code == 404
    assert browser_of(alice).post(f"/d/{entry.pk}/delete/").status_code == 303

    assert not HistoryEntry.objects.exists()
