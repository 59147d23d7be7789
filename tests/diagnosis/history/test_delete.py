from __future__ import annotations

import pytest
from django.test import Client
from redis import Redis

from denpex.accounts.models import User
from denpex.accounts.standing import tier_of
from diagnosis import store
from diagnosis.history.models import HistoryEntry, HistoryFile
from diagnosis.models import Job
from diagnosis.paste import Upload
from diagnosis.senders import Sender
from diagnosis.store import StoreUnavailableError
from diagnosis.submission import Submission, submit
from diagnosis.visitors import Visitor
from tests.diagnosis.history.conftest import DISK_FULL, ODD, Diagnosed

pytestmark = pytest.mark.django_db


def test_it_works(as_alice: Client, alice: User, diagnosed: Diagnosed, redis: Redis) -> None:
    entry, other = diagnosed(alice), diagnosed(alice, ODD)

    response = as_alice.post(f"/account/history/{entry.pk}/delete/", follow=True)

    assert response.redirect_chain == [("/account/history/", 302)]
    assert "Verdict and log are deleted." in response.text
    assert list(HistoryEntry.objects.all()) == [other]
    assert HistoryFile.objects.count() == Job.objects.count() == 1
    assert not redis.keys(f"*{entry.pk}*")
    assert as_alice.get(f"/d/{entry.pk}/").status_code == 404


def test_all_verdicts_are_deleted_after_one_confirmation(
    as_alice: Client, alice: User, bob: User, diagnosed: Diagnosed, redis: Redis
) -> None:
    for log in (DISK_FULL, ODD):
        diagnosed(alice, log, project="wombat")
    others = diagnosed(bob)
    assert "/account/history/delete/" in as_alice.get("/account/history/").text
    asked = as_alice.get("/account/history/delete/").text
    assert "2 verdicts with their logs" in asked
    assert HistoryEntry.objects.count() == 3

    response = as_alice.post("/account/history/delete/", follow=True)

    assert response.redirect_chain == [("/account/history/", 302)]
    assert "All verdicts and their logs are deleted." in response.text
    assert list(HistoryEntry.objects.all()) == [others]
    assert HistoryFile.objects.count() == Job.objects.count() == 1
    assert all(others.pk.encode() in key for key in redis.keys("diagnosis:*"))
    assert "nothing to delete" in as_alice.get("/account/history/delete/").text


def test_a_diagnosis_that_is_still_being_made_outlives_the_deletion_of_all(
    as_alice: Client, alice: User, diagnosed: Diagnosed
) -> None:
    diagnosed(alice)
    sender = Sender(tier_of(alice), Visitor("203.0.113.9", None), alice)
    waiting = submit(Submission("", (Upload("run.log", ODD),)), sender)

    as_alice.post("/account/history/delete/")

    assert list(Job.objects.all()) == [waiting]
    assert store.read_log(waiting.pk)


def test_nothing_is_deleted_where_the_store_does_not_answer(
    as_alice: Client, alice: User, diagnosed: Diagnosed, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = diagnosed(alice)

    def fail(_job_id: str) -> None:
        raise StoreUnavailableError

    monkeypatch.setattr(store, "delete", fail)

    assert as_alice.post("/account/history/delete/").status_code == 503
    assert list(HistoryEntry.objects.all()) == [entry]
    assert Job.objects.exists()


def test_deletion_of_all_needs_a_token_and_an_account(
    client: Client, alice: User, diagnosed: Diagnosed
) -> None:
    diagnosed(alice)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)

    assert browser.post("/account/history/delete/").status_code == 403
    assert client.post("/account/history/delete/")["Location"].startswith("/account/login/")
    assert HistoryEntry.objects.exists()
