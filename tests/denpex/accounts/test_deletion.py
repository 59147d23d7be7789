"""Deleting an account leaves nothing of it: every table and every key of Redis is searched."""

from __future__ import annotations

import base64
import contextlib
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from redis import Redis

from denpex.accounts.organisations import memberships
from denpex.accounts.organisations.models import (
    AuditEntry,
    EvaluationCode,
    EvaluationRequest,
    Membership,
    Organisation,
)
from denpex.mail import outbox
from diagnosis import jobs, store
from diagnosis.curation.models import ExcerptConsent, Feedback
from diagnosis.engine import diagnose
from diagnosis.history.models import EarlierVerdict, HistoryEntry, HistoryFile
from diagnosis.models import Job
from diagnosis.preloaded import compiled
from tests.conftest import PASSWORD, MakeAccount
from tests.denpex.accounts.conftest import log_in, sign_up
from tests.denpex.accounts.organisations.conftest import mint, requested

if TYPE_CHECKING:
    from denpex.accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

ADDRESS = "zebra@example.org"
LOG = (
    "[rank1]: Traceback (most recent call last):\n"
    '[rank1]:   File "/srv/train.py", line 3, in <module>\n'
    "[rank1]: quokka.QuokkaError: the quokka is asleep\n"
)
# What stands where, and nowhere else: each must be found before, and not afterwards.
TEXTS = {
    "address": "zebra@example.org",
    "log": "quokka is asleep",
    "log that waits": "pangolin waits",
    "earlier verdict": "axolotl",
    "project": "wombat",
    "note": "numbat",
    "feedback": "kakapo",
    "link": "s" * 26,
    "mail": "tapir",
    "work address": "zebra@quagga.example",
    "purpose": "okapi",
}


def found() -> set[str]:
    """Return which of the texts stand anywhere in the database or in Redis."""
    everything = [*database(), *redis_values()]
    return {
        name
        for name, text in TEXTS.items()
        if any(text.encode().lower() in piece.lower() for piece in everything)
    }


def database() -> Iterator[bytes]:
    """Yield every value of every table, and what is packed or encoded in it."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                for value in row:
                    yield from readings(value)
    for session in Session.objects.all():
        yield repr(session.get_decoded()).encode()


def redis_values() -> Iterator[bytes]:
    from django.conf import settings

    with Redis.from_url(settings.REDIS_URL) as client:
        for key in client.scan_iter():
            yield key
            yield from readings(contents(client, key))


def contents(client: Any, key: bytes) -> Any:
    match client.type(key):
        case b"string":
            return client.get(key)
        case b"hash":
            return client.hgetall(key)
        case b"list":
            return client.lrange(key, 0, -1)
        case b"set":
            return client.smembers(key)
        case b"zset":
            return client.zrange(key, 0, -1)
        case other:
            pytest.fail(f"a kind of key that nobody reads: {other}")


def readings(value: Any) -> Iterator[bytes]:
    """Yield a value as bytes, in every way in which this site writes text."""
    if isinstance(value, dict):
        for pair in value.items():
            yield from readings(list(pair))
    elif isinstance(value, list | set | tuple):
        for each in value:
            yield from readings(each)
    else:
        raw = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
        yield raw
        with contextlib.suppress(zlib.error):
            yield zlib.decompress(raw)
        with contextlib.suppress(ValueError):
            yield base64.b64decode(raw)


def browser() -> Client:
    client = Client()
    assert log_in(client, ADDRESS).status_code == 302
    return client


@pytest.fixture
def zebra(make_account: MakeAccount) -> User:
    """Return an account that has left its texts wherever an account can leave any."""
    client = Client()
    sign_up(client, ADDRESS)
    log_in(Client(), ADDRESS, "a wrong password")
    client.post("/account/email/", {"action_add": "", "email": "zebra@example.org.example"})
    client.post("/diagnose/", {"log": LOG})
    entry = finish(Job.objects.get())
    client.post("/diagnose/", {"log": LOG.replace("quokka is asleep", "pangolin waits")})
    client.post(f"/account/history/{entry.pk}/describe/", {"project": "wombat", "note": "numbat"})
    client.post(f"/d/{entry.pk}/feedback/", {"suggested": "kakapo", "words": "kakapo"})
    client.post("/account/excerpts/", {"allow": "yes"})
    HistoryEntry.objects.update(share_key="s" * 26)
    EarlierVerdict.objects.create(entry=entry, verdict='"axolotl"', made_at=entry.read_at)
    account: User = entry.account
    redeem(account)
    context = {"password_reset_url": "https://tapir.example/"}
    outbox.post("password_reset_key", ADDRESS, context, account)
    return account


def redeem(account: User) -> None:
    """Become a member of a workplace, and begin its evaluation with the code of a request."""
    work = "zebra@quagga.example"
    lab = Organisation.objects.create(domain="quagga.example", name="The Lab")
    memberships.admit(account, lab, work)
    request = requested(account, work)
    EvaluationRequest.objects.update(purpose="okapi")
    code = mint(lab, work, request=request)
    answer = browser().post("/account/evaluation/redeem/", {"code": code}, follow=True)
    assert answer.status_code == 200
    assert EvaluationCode.objects.get().redeemed_by == account


def finish(job: Job) -> HistoryEntry:
    assert jobs.take_lease(job.pk, "the test")
    logs = store.read_log(job.pk)
    assert logs is not None
    assert jobs.finish(job.pk, "the test", diagnose(logs, compiled()).as_json())
    return HistoryEntry.objects.get(pk=job.pk)


def test_nothing_is_left(zebra: User, make_account: MakeAccount) -> None:
    other = make_account("bob@example.org")
    before = found()
    assert before == set(TEXTS)

    response = browser().post("/account/delete/", {"password": PASSWORD})

    assert response.status_code == 200
    assert "Your account is deleted" in response.text
    assert found() == set()
    other.refresh_from_db()


def test_the_audit_trail_stays_and_names_nobody(zebra: User) -> None:
    steps = AuditEntry.objects.count()

    browser().post("/account/delete/", {"password": PASSWORD})

    assert AuditEntry.objects.count() == steps > 0
    assert not Membership.objects.exists()
    # The organisation has had its evaluation, whoever goes.
    assert EvaluationCode.objects.get().redeemed_by is None


def test_the_search_finds_each_text_where_it_should(zebra: User) -> None:
    """Else a test that finds nothing would prove nothing."""
    models = [HistoryEntry, HistoryFile, EarlierVerdict, Feedback, ExcerptConsent, Session]
    assert all(model.objects.exists() for model in models)  # type: ignore[attr-defined]
    in_redis = b" ".join(redis_values())
    assert b"pangolin waits" in in_redis
    assert b"zebra" not in in_redis


def test_every_browser_is_logged_out(zebra: User) -> None:
    other = browser()
    browser().post("/account/delete/", {"password": PASSWORD})

    assert other.get("/account/")["Location"].startswith("/account/login/")
    assert log_in(Client(), ADDRESS).status_code == 200


def test_the_page_says_what_goes(zebra: User) -> None:
    page = browser().get("/account/delete/").text

    assert "its history of 1 verdict with its log" in page
    assert "Nothing of it can be brought back." in page


@pytest.mark.parametrize("password", ["", "a wrong one"])
def test_a_wrong_password_deletes_nothing(zebra: User, password: str) -> None:
    response = browser().post("/account/delete/", {"password": password})

    assert response.status_code == 400
    zebra.refresh_from_db()
    assert HistoryEntry.objects.exists()


def test_passwords_cannot_be_guessed_here(zebra: User) -> None:
    client = browser()
    for _ in range(10):
        client.post("/account/delete/", {"password": "a guess"})

    response = client.post("/account/delete/", {"password": PASSWORD})

    assert "That was tried too often" in response.text
    zebra.refresh_from_db()


def test_a_visitor_and_another_site_delete_nothing(zebra: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(zebra)

    assert Client().post("/account/delete/", {"password": PASSWORD}).status_code == 302
    assert strict.post("/account/delete/", {"password": PASSWORD}).status_code == 403
    zebra.refresh_from_db()


def test_a_job_under_way_is_not_answered_any_more(zebra: User) -> None:
    waiting = Job.objects.get(state=Job.State.QUEUED)
    jobs.take_lease(waiting.pk, "the test")
    browser().post("/account/delete/", {"password": PASSWORD})

    assert not jobs.finish(waiting.pk, "the test", '{"outcome": "no_failure", "primary": null}')
    assert found() == set()
