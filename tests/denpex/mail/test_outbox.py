from __future__ import annotations

import datetime as dt
import smtplib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection, transaction
from django.utils import timezone

from denpex.celery import app
from denpex.mail import outbox
from denpex.mail.models import WaitingMail
from tests.conftest import MakeAccount

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def post(account=None) -> WaitingMail:
    return outbox.post("unknown_account", "bob@example.org", {"email": "bob@example.org"}, account)


def test_it_works() -> None:
    waiting = post()

    assert outbox.deliver(waiting.pk)

    sent = mail.outbox[0]
    assert isinstance(sent, EmailMultiAlternatives)
    assert sent.to == ["bob@example.org"]
    assert sent.subject == "No account at Denpex has this address"
    assert [kind for _, kind in sent.alternatives] == ["text/html"]
    assert sent.from_email == "Denpex <denpex@127.0.0.1>"


def test_a_task_that_comes_twice_sends_once() -> None:
    waiting = post()

    assert [outbox.deliver(waiting.pk), outbox.deliver(waiting.pk)] == [True, False]
    assert len(mail.outbox) == 1


def test_nothing_of_a_sent_mail_is_kept() -> None:
    outbox.deliver(post().pk)

    assert not WaitingMail.objects.exists()


def test_a_server_that_is_away_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = post()
    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "send_messages", away)
        assert not outbox.deliver(waiting.pk)

    waiting.refresh_from_db()
    assert waiting.attempts == 1
    assert waiting.send_at > timezone.now()
    assert outbox.due() == []
    assert not outbox.deliver(waiting.pk)

    WaitingMail.objects.update(send_at=timezone.now() - dt.timedelta(seconds=1))
    assert outbox.due() == [waiting.pk]
    assert outbox.deliver(waiting.pk)


def test_each_attempt_has_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mail that was handed over, and whose worker died before it said so, is known again."""
    waiting = post()
    names = [outbox._message(WaitingMail.objects.get()).extra_headers["Message-ID"] for _ in "ab"]

    assert names[0] == names[1]
    assert names[0].startswith(f"<{waiting.pk}.")


def test_a_worker_that_dies_while_sending_costs_an_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a server that hangs would be asked again and again without end."""
    waiting = post()

    def die(*_args: object) -> None:
        raise SystemExit

    monkeypatch.setattr(EmailBackend, "send_messages", die)
    with pytest.raises(SystemExit):
        outbox.deliver(waiting.pk)

    waiting.refresh_from_db()
    assert waiting.attempts == 1
    assert outbox.due() == []


def test_it_is_given_up_after_a_day(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = post()
    monkeypatch.setattr(EmailBackend, "send_messages", away)
    for _ in range(7):
        WaitingMail.objects.update(send_at=timezone.now() - dt.timedelta(seconds=1))
        outbox.deliver(waiting.pk)

    assert not WaitingMail.objects.exists()
    assert [record.message for record in caplog.records][-1] == "mail_given_up"
    assert "bob@example.org" not in caplog.text


def test_mail_goes_when_the_account_goes(make_account: MakeAccount) -> None:
    account = make_account()
    post(account)

    account.delete()

    assert not WaitingMail.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_where_the_transaction_fails(redis) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        post()
        raise RuntimeError

    assert not WaitingMail.objects.exists()
    assert not redis.exists("mail")


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_loses_no_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(app, "send_task", refuse)
    waiting = post()

    assert outbox.due() == [waiting.pk]


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_once() -> None:
    waiting = post()
    start = threading.Barrier(4)

    def run(_place: int) -> bool:
        start.wait()
        try:
            return outbox.deliver(waiting.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(run, range(4))) == 1
    assert len(mail.outbox) == 1


def away(*_args: object) -> None:
    raise smtplib.SMTPServerDisconnected
