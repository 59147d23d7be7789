"""A kept log is read again: the page and its button, and what reading it again changes."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from django.test import Client
from django.utils import timezone

from denpex.accounts.models import User
from denpex.mail.models import WaitingMail
from diagnosis.discretion import EngineError
from diagnosis.engine import Compiled
from diagnosis.history import reruns
from diagnosis.history.models import EarlierVerdict, HistoryEntry, HistoryFile
from diagnosis.models import AllowanceEntry
from diagnosis.preloaded import compiled
from tests.diagnosis.history.conftest import DISK_FULL, ODD, OUT_OF_MEMORY, Diagnosed, numbered

pytestmark = pytest.mark.django_db


@pytest.fixture
def unknown(alice: User, diagnosed: Diagnosed, small_catalogue: Compiled) -> HistoryEntry:
    """Return an entry that was unknown to the small catalogue, and is known to today's."""
    entry: HistoryEntry = diagnosed(alice, OUT_OF_MEMORY, small_catalogue)
    assert entry.outcome == "unrecognised"
    return entry


def today() -> str:
    return compiled().fingerprint


def test_it_works(as_alice: Client, unknown: HistoryEntry) -> None:
    response = as_alice.post(f"/account/history/{unknown.pk}/rerun/")
    assert response["Location"] == f"/d/{unknown.pk}/#history"
    assert "A worker reads this log again" in as_alice.get(f"/d/{unknown.pk}/").text

    reruns.read_again(unknown.pk, compiled())

    unknown.refresh_from_db()
    assert (unknown.failure, unknown.fingerprint) == ("cuda-out-of-memory", "")
    assert (unknown.engine, unknown.rerun_asked_at) == (today(), None)
    page = as_alice.get(f"/d/{unknown.pk}/").text
    assert "What reading it again changed" in page
    assert page.index("Unrecognised</span> rank 2") < page.index(">became<")
    assert f'became</span> <span class="badge">Cause established</span> {unknown.title}' in page
    assert "changed by reading it again" in as_alice.get("/account/history/").text


def test_the_shown_verdict_is_the_new_one(as_alice: Client, unknown: HistoryEntry) -> None:
    old = unknown.verdict
    reruns.read_again(unknown.pk, compiled())

    new = as_alice.get(f"/d/{unknown.pk}.json").text
    assert json.loads(new)["outcome"] == "established"
    assert EarlierVerdict.objects.get().verdict == old


def test_a_log_costs_nothing_the_second_time(as_alice: Client, unknown: HistoryEntry) -> None:
    taken = AllowanceEntry.objects.count()
    as_alice.post(f"/account/history/{unknown.pk}/rerun/")
    reruns.read_again(unknown.pk, compiled())

    assert AllowanceEntry.objects.count() == taken


def test_todays_verdict_is_not_read_again(
    as_alice: Client, alice: User, diagnosed: Diagnosed
) -> None:
    entry = diagnosed(alice)

    page = as_alice.post(f"/account/history/{entry.pk}/rerun/", follow=True).text

    entry.refresh_from_db()
    assert entry.rerun_asked_at is None
    assert "made with today&#x27;s catalogue already" in page
    assert "Read it again" not in page


def test_the_same_verdict_is_no_change(alice: User, diagnosed: Diagnosed, as_alice: Client) -> None:
    entry = diagnosed(alice)
    stamped = json.loads(entry.verdict)
    stamped["engine"]["fingerprint"] = "an older one"
    HistoryEntry.objects.update(engine="an older one", verdict=json.dumps(stamped))
    reruns.ask(entry, today())

    reruns.read_again(entry.pk, compiled())

    entry.refresh_from_db()
    assert entry.engine == json.loads(entry.verdict)["engine"]["fingerprint"] == today()
    assert not EarlierVerdict.objects.exists()
    assert "What reading it again changed" not in as_alice.get(f"/d/{entry.pk}/").text


def test_unknown_logs_are_due_by_themselves_and_others_when_asked(
    alice: User, diagnosed: Diagnosed, unknown: HistoryEntry
) -> None:
    old = diagnosed(alice, DISK_FULL, engine="an older one")
    diagnosed(alice, ODD)
    assert reruns.due(today()) == [unknown.pk]

    assert reruns.ask(old, today())

    assert reruns.due(today()) == [old.pk, unknown.pk]


def test_what_is_being_read_is_not_due_until_its_reader_is_dead(unknown: HistoryEntry) -> None:
    now = timezone.now()
    HistoryEntry.objects.update(tried_at=now - dt.timedelta(seconds=10))
    assert reruns.due(today()) == []
    reruns.read_again(unknown.pk, compiled())
    unknown.refresh_from_db()
    assert (unknown.outcome, unknown.tries) == ("unrecognised", 0)

    HistoryEntry.objects.update(tried_at=now - dt.timedelta(seconds=21))
    assert reruns.due(today()) == [unknown.pk]


def test_a_log_that_fails_thrice_is_left_alone_until_the_catalogue_changes(
    as_alice: Client, unknown: HistoryEntry
) -> None:
    """Its bytes are damaged, so that each try fails, as by a fault of the engine."""
    HistoryFile.objects.update(packed=b"damaged")
    reruns.ask(unknown, today())
    for _ in range(3):
        with pytest.raises(EngineError):
            reruns.read_again(unknown.pk, compiled())
        HistoryEntry.objects.update(tried_at=None)

    assert reruns.due(today()) == []
    assert reruns.due("the next one") == [unknown.pk]
    unknown.refresh_from_db()
    assert unknown.tries == 3


def test_it_tells_a_failed_rerun(as_alice: Client, unknown: HistoryEntry) -> None:
    HistoryEntry.objects.update(tries=3, tried_with=today(), rerun_asked_at=timezone.now())

    page = as_alice.get(f"/d/{unknown.pk}/").text

    assert "a fault of ours. The verdict stays as it was" in page
    reruns.read_again(unknown.pk, compiled())
    unknown.refresh_from_db()
    assert unknown.outcome == "unrecognised"


def test_a_deleted_entry_is_not_read(unknown: HistoryEntry) -> None:
    key = unknown.pk
    unknown.delete()

    reruns.read_again(key, compiled())

    assert not HistoryEntry.objects.exists()


def test_the_owner_is_told_once(unknown: HistoryEntry) -> None:
    HistoryEntry.objects.update(project="llama")
    reruns.tell_owners(today())
    assert not WaitingMail.objects.exists()

    reruns.read_again(unknown.pk, compiled())
    reruns.tell_owners(today())
    reruns.tell_owners(today())

    mail = WaitingMail.objects.get()
    unknown.refresh_from_db()
    assert mail.recipient == "alice@example.org"
    assert mail.subject == "A failure of yours is known now"
    assert f"/d/{unknown.pk}/" in mail.text
    assert f"(llama): {unknown.title}" in mail.text
    assert "GiB" not in mail.text


def test_many_unknowns_are_one_mail_once_all_are_read(
    alice: User, diagnosed: Diagnosed, small_catalogue: Compiled
) -> None:
    entries = [diagnosed(alice, numbered(OUT_OF_MEMORY, n), small_catalogue) for n in range(12)]
    for entry in entries[1:]:
        reruns.read_again(entry.pk, compiled())
    reruns.tell_owners(today())
    assert not WaitingMail.objects.exists()

    reruns.read_again(entries[0].pk, compiled())
    reruns.tell_owners(today())

    mail = WaitingMail.objects.get()
    assert mail.subject == "12 failures of yours are known now"
    assert mail.text.count("Pasted on") == 10
    assert "And 2 more, in your history:" in mail.text


def test_an_address_that_nobody_verified_gets_no_mail(alice: User, unknown: HistoryEntry) -> None:
    alice.emailaddress_set.update(verified=False)  # type: ignore[attr-defined]
    reruns.read_again(unknown.pk, compiled())

    reruns.tell_owners(today())

    assert not WaitingMail.objects.exists()
    assert not HistoryEntry.objects.filter(owner_is_to_be_told=True).exists()


def test_what_stays_unknown_is_told_to_nobody(
    alice: User, diagnosed: Diagnosed, small_catalogue: Compiled
) -> None:
    entry = diagnosed(alice, ODD, small_catalogue)

    reruns.read_again(entry.pk, compiled())
    reruns.tell_owners(today())

    entry.refresh_from_db()
    assert (entry.outcome, entry.engine) == ("unrecognised", today())
    assert reruns.due(today()) == []
    assert not WaitingMail.objects.exists()
