"""Whose a job is, and who may see it."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from redis import Redis

from denpex.accounts.models import Grant
from denpex.accounts.standing import tier_of
from diagnosis import jobs, store
from diagnosis.engine import diagnose
from diagnosis.models import Job
from diagnosis.preloaded import compiled
from tests.conftest import MakeAccount, StartProcess
from tests.diagnosis.test_faults import is_, wait_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

LOG = "[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'labels'\n" * 4
NONCE = "0123456789abcdef"
PATHS = (
    "/d/{}/",
    "/d/{}.json",
    "/d/{}.md",
    "/d/{}/log/",
    "/d/{}/log/1/",
    "/d/{}/log/1/lines/?gap=1-4&part=1-4",
    "/d/{}/log/1.txt",
)


def browser_of(account) -> Client:
    client = Client()
    if account is not None:
        client.force_login(account)
    return client


def paste(client: Client, log: str = LOG, nonce: str = "") -> Job:
    response = client.post("/diagnose/", {"log": log, "nonce": nonce})
    assert response.status_code == 303, response.content.decode()
    return Job.objects.get(pk=response["Location"].split("/")[2])


def answer(job: Job) -> Job:
    assert jobs.take_lease(job.pk, "the test")
    logs = store.read_log(job.pk)
    assert logs is not None
    assert jobs.finish(job.pk, "the test", diagnose(logs, compiled()).as_json())
    return job


def test_it_works(make_account: MakeAccount) -> None:
    alice = make_account(verified=True)
    job = answer(paste(browser_of(alice)))

    assert job.account == alice
    assert job.tier == "verified"
    assert list(alice.jobs.all()) == [job]
    for path in PATHS:
        assert browser_of(alice).get(path.format(job.pk)).status_code == 200
    assert "you alone can read them" in browser_of(alice).get(f"/d/{job.pk}/").content.decode()


@pytest.mark.parametrize("state", ["queued", "done", "failed", "expired"])
def test_ids_of_others_lead_nowhere(make_account: MakeAccount, state: str) -> None:
    """Neither another account nor a visitor can tell the job from one that never was."""
    alice, bob = make_account("alice@example.org"), make_account("bob@example.org")
    job = paste(browser_of(alice))
    if state == "done":
        answer(job)
    elif state == "failed":
        jobs.fail(Job.objects.all(), Job.FailureReason.LOG_LOST)
    elif state == "expired":
        Job.objects.update(expires_at=job.created_at)
    never = "a" * 26

    for account in (bob, None):
        client = browser_of(account)
        for path in PATHS:
            seen, none = client.get(path.format(job.pk)), client.get(path.format(never))
            assert seen.status_code == 404, path
            assert seen.content == none.content, path


def test_others_cannot_delete(make_account: MakeAccount) -> None:
    alice, bob = make_account("alice@example.org"), make_account("bob@example.org")
    job = paste(browser_of(alice))

    for account in (bob, None):
        assert browser_of(account).post(f"/d/{job.pk}/delete/").status_code == 404
    assert Job.objects.filter(pk=job.pk).exists()

    assert browser_of(alice).post(f"/d/{job.pk}/delete/").status_code == 303
    assert not Job.objects.exists()


def test_jobs_without_an_account_stay_open_to_who_knows_the_id(make_account: MakeAccount) -> None:
    job = answer(paste(Client()))

    assert browser_of(make_account()).get(f"/d/{job.pk}/").status_code == 200
    assert Client().get(f"/d/{job.pk}/").status_code == 200


def test_the_same_form_in_another_account_is_another_job(make_account: MakeAccount) -> None:
    accounts = [make_account("alice@example.org"), make_account("bob@example.org"), None]

    made = {paste(browser_of(account), nonce=NONCE).pk for account in (*accounts, *accounts)}

    assert len(made) == 3


def test_jobs_go_when_the_account_goes(make_account: MakeAccount) -> None:
    alice = make_account()
    paste(browser_of(alice))

    alice.delete()

    assert not Job.objects.exists()


def test_an_account_is_counted_and_not_its_address(make_account: MakeAccount) -> None:
    client = browser_of(make_account(verified=True))
    for number in range(8):
        paste(client, f"{LOG}{number}")

    refused = client.post("/diagnose/", {"log": LOG})
    page = refused.content.decode()

    assert refused.status_code == 429
    assert "You have used the 5 diagnoses of today." in page
    assert "An account of a verified workplace has 10 a day." in page
    assert "A verified account has 5" not in page
    assert LOG.splitlines()[0] in page.replace("&#x27;", "'")
    assert paste(Client()).account is None


def test_an_account_gets_no_visitor_cookie(make_account: MakeAccount) -> None:
    client = browser_of(make_account())
    for path in ("/diagnose/", "/diagnose/allowance/"):
        assert "denpex_visitor" not in client.get(path).cookies
    paste(client)

    assert "denpex_visitor" not in client.cookies


def test_allowance_is_that_of_the_account_and_stored_nowhere(make_account: MakeAccount) -> None:
    client = browser_of(make_account(verified=True))
    paste(client)

    response = client.get("/diagnose/allowance/")

    assert "5 of 5 left today, and 2 extra. Resets at" in response.content.decode()
    assert response["Cache-Control"] == "private, no-store"


def test_a_limit_of_zero_takes_nothing(make_account: MakeAccount) -> None:
    alice = make_account(verified=True)
    Grant.objects.create(account=alice, tier="scale", diagnoses_a_day=0, why="a test")

    refused = browser_of(alice).post("/diagnose/", {"log": LOG})

    assert refused.status_code == 403
    assert "No diagnoses are open to you here." in refused.content.decode()
    assert not Job.objects.exists()


def test_higher_tiers_may_send_larger_logs(make_account: MakeAccount, settings) -> None:
    settings.DENPEX_LOG_LIMIT_BYTES = 1000
    alice = make_account(verified=True)
    log = LOG * 10
    assert 1000 < len(log) < 5000

    refused = browser_of(alice).post("/diagnose/", {"log": log})
    Grant.objects.create(account=alice, tier="evaluation", why="a test")

    assert refused.status_code == 413
    assert paste(browser_of(alice), log).tier == "evaluation"


def test_log_of_an_account_waits_in_the_store_for_a_day_at_most(
    make_account: MakeAccount, redis: Redis
) -> None:
    """Its history takes it with the verdict; the store's room is for what waits."""
    alice = make_account(verified=True)
    job = paste(browser_of(alice))

    kept = tier_of(alice).keep_for
    assert kept.days == 30
    assert abs((job.expires_at - job.created_at - kept).total_seconds()) < 60
    assert 0 < redis.ttl(f"diagnosis:{job.pk}:log") <= 24 * 3600


@pytest.mark.django_db(transaction=True)
def test_priority_has_a_queue_of_its_own(
    make_account: MakeAccount, redis: Redis, start_worker: StartProcess
) -> None:
    """A worker of that queue alone answers the evaluation and leaves the others to others."""
    start_worker("-Q", "diagnosis-priority")
    alice, bob = make_account("alice@example.org"), make_account("bob@example.org")
    Grant.objects.create(account=alice, tier="evaluation", why="a test")

    other = paste(browser_of(bob))
    first = paste(browser_of(alice))

    wait_for(is_(first, Job.State.DONE))
    other.refresh_from_db()
    assert other.state == Job.State.QUEUED
    verdict = browser_of(alice).get(f"/d/{first.pk}.json")
    assert json.loads(verdict.content)["schema"] == "denpex.verdict/1"
