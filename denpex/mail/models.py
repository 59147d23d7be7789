"""Mail that waits to be sent."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

__all__ = ["WaitingMail"]


class WaitingMailQuerySet(models.QuerySet["WaitingMail"]):
    """The questions that are asked of waiting mail; times are the database's."""

    def due(self) -> WaitingMailQuerySet:
        """Select mail whose time to be sent, or tried again, has come."""
        return self.filter(send_at__lte=Now())


class WaitingMail(models.Model):
    """A rendered mail on its way out. The row is removed once the mail is sent.

    It holds links that open an account, so that it is kept no longer than it is needed.
    """

    recipient = models.EmailField(max_length=254)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    html = models.TextField()
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Whose mail it is: it goes when the account goes.",
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    written_at = models.DateTimeField(db_default=Now())
    send_at = models.DateTimeField(db_default=Now(), db_index=True)

    objects = WaitingMailQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["send_at", "pk"]

    def __str__(self) -> str:
        return f"mail {self.pk}"
