"""The way of a mail: written as a row, sent by a worker, tried again, sent once."""

from __future__ import annotations

import datetime as dt
import logging
import smtplib
from collections.abc import Mapping
from typing import Any

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
# Who is away for longer than this misses the mail: links in it have expired by then.
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

    The row is locked while the mail is handed over and removed with the same transaction, so that
    a task that comes twice finds nothing to do.
    """
    with transaction.atomic():
        found = WaitingMail.objects.select_for_update(skip_locked=True).due()
        mail = found.filter(pk=mail_id).first()
        if mail is None:
            return False
        try:
            _message(mail).send()
        except _SENDING_FAILED as error:
            _put_off(mail, error)
            return False
        mail.delete()
    logger.info("mail_sent", extra={"mail": mail_id})
    return True


def _put_off(mail: WaitingMail, error: Exception) -> None:
    facts = {"mail": mail.pk, "error": type(error).__name__, "attempts": mail.attempts + 1}
    if mail.attempts >= len(_PAUSES):
        logger.error("mail_given_up", extra=facts)
        mail.delete()
        return
    logger.warning("mail_put_off", extra=facts)
    WaitingMail.objects.filter(pk=mail.pk).update(
        attempts=mail.attempts + 1, send_at=Now() + _PAUSES[mail.attempts]
    )


def _message(mail: WaitingMail) -> EmailMultiAlternatives:
    host = settings.DENPEX_ORIGIN.partition("://")[2].partition(":")[0]
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
