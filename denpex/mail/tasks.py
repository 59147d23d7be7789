"""Celery tasks of the outbox. They carry an id alone."""

from __future__ import annotations

from denpex.celery import app
from denpex.mail import outbox
from diagnosis.tasks import CountedTask

__all__ = ["send", "sweep"]


@app.task(base=CountedTask)
def send(*, mail: int) -> None:
    """Send one waiting mail."""
    outbox.deliver(mail)


@app.task(base=CountedTask)
def sweep() -> None:
    """Send what got lost on the way, or was put off until now."""
    for mail in outbox.due():
        outbox.publish(mail)
