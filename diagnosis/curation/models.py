"""What visitors tell curators, and which accounts let them read excerpts."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from diagnosis.history.models import HistoryEntry

__all__ = ["ExcerptConsent", "Feedback"]


class ExcerptConsent(models.Model):
    """An account lets curators read masked excerpts of its logs. Without a row it does not."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    given_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"account {self.account_id}"


class Feedback(models.Model):
    """Somebody says that a verdict was wrong. It holds their words, masked, and nothing of a log.

    `account` is whose it is, and goes with it; visitors without one leave none. `entry` leads to an
    excerpt, as long as its owner keeps it and lets curators read it.
    """

    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    entry = models.ForeignKey(HistoryEntry, null=True, on_delete=models.SET_NULL, related_name="+")
    outcome = models.CharField(max_length=20)
    said = models.CharField("what we said", max_length=120, blank=True)
    engine = models.CharField(max_length=64)
    suggested = models.CharField("what it was", max_length=200, blank=True)
    words = models.TextField(max_length=2000, blank=True)
    sent_at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "feedback"
        ordering: ClassVar = ["-sent_at", "-pk"]

    def __str__(self) -> str:
        return f"feedback {self.pk}"
