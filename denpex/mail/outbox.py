"""The way of a mail: written as a row, sent by a worker, tried again, sent once."""

from __future__ import annotations

import datetime as dt
import logging
import smtplib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import kombu.exceptions
import redis
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.db.models.functions import Now

from denpex.accounts.models import User
from denpex.celery import MAIL, app
from denpex.mail.letter import write
from denpex.mail.models import WaitingMail

__all__ = ["deliver", "due", "post", "publish"]

logger = logging.getLogger(__name__)

_BROKER_OUTAGES = (kombu.exceptions.OperationalError, redis.RedisError, OSError)
_SENDING_FAILED = (smtplib.SMTPException, OSError)
# How long after each attempt the next one comes. Who is away for longer than all of them misses the
# mail: links in it have expired by then.
_PAUSES = tuple(dt.timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240, 960))


def post(
    name: str, recipient: str, context: Mapping[str, Any], account: User | None = None
) -> WaitingMail:
    """Write the mail `templates/mail/<name>.txt` and let a worker send it after the commit."""
    letter = write(name, context)
    mail = WaitingMail.objects.create(
        recipient=recipient,
        subject=letter.subject,
        text=letter.text,
        html=letter.html,
        account=account,
    )
    transaction.on_commit(lambda: publish(mail.pk))
    return mail


def publish(mail_id: int) -> None:
    """Tell the workers of a waiting mail; what the broker did not take, the sweep finds."""
    try:
        app.send_task("denpex.mail.tasks.send", kwargs={"mail": mail_id}, queue=MAIL)
    except _BROKER_OUTAGES as error:
        logger.warning("publish_failed", extra={"error": type(error).__name__})


def due() -> list[int]:
    """Return the ids of mail that should be sent now."""
    return list(WaitingMail.objects.due().values_list("pk", flat=True)[:100])


def deliver(mail_id: int) -> bool:
    """Send a waiting mail; say whether it went.

    A task that comes twice finds nothing to do: the mail is put off before it is handed over, for
    longer than a task may take, and removed afterwards.
    """
    mail = _claim(mail_id)
    if mail is None:
        return False
    facts = {"mail": mail.pk, "attempt": mail.attempts}
    try:
        _message(mail).send()
    except _SENDING_FAILED as error:
        logger.warning("mail_put_off", extra={**facts, "error": type(error).__name__})
        return False
    mail.delete()
    logger.info("mail_sent", extra=facts)
    return True


def _claim(mail_id: int) -> WaitingMail | None:
    """Put a mail that is due off until its next attempt, and return it; give it up after all."""
    with transaction.atomic():
        due_mail = WaitingMail.objects.due().select_for_update(skip_locked=True)
        mail = due_mail.filter(pk=mail_id).first()
        if mail is None:
            return None
        if mail.attempts >= len(_PAUSES):
            logger.error("mail_given_up", extra={"mail": mail.pk})
            mail.delete()
            return None
        WaitingMail.objects.filter(pk=mail.pk).update(
            attempts=mail.attempts + 1, send_at=Now() + _PAUSES[mail.attempts]
        )
    mail.attempts += 1
    return mail


def _message(mail: WaitingMail) -> EmailMultiAlternatives:
    host = urlsplit(settings.DENPEX_ORIGIN).hostname
    message = EmailMultiAlternatives(
        mail.subject,
        mail.text,
        to=[mail.recipient],
        # The same for each attempt, so that a mail handed over twice is seen as one. Nobody reads
        # answers, and out-of-office notes are not wanted.
        headers={
            "Message-ID": f"<{mail.pk}.{mail.written_at:%Y%m%d%H%M%S%f}@{host}>",
            "Auto-Submitted": "auto-generated",
        },
    )
    message.attach_alternative(mail.html, "text/html")
    return message
