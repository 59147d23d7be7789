"""What an account keeps: each verdict, its masked log, and what its owner wrote to it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from denpex.accounts.models import User
from diagnosis import store

__all__ = ["EarlierVerdict", "HistoryEntry", "HistoryEntryQuerySet", "HistoryFile"]


class HistoryEntryQuerySet(models.QuerySet["HistoryEntry"]):
    """The questions that are asked of a history; times are the database's."""

    def of(self, account: User) -> HistoryEntryQuerySet:
        """Select what `account` keeps, and may open."""
        return self.filter(account=account, expires_at__gt=Now())

    def shared(self, key: str) -> HistoryEntryQuerySet:
        """Select the entry that this link opens to everyone."""
        return self.filter(share_key=key, expires_at__gt=Now())

    def expired(self) -> HistoryEntryQuerySet:
        """Select what was promised for no longer than until now."""
        return self.filter(expires_at__lte=Now())

    def listed(self) -> HistoryEntryQuerySet:
        """Load what lists show, and not the verdicts themselves; newest first."""
        earlier = EarlierVerdict.objects.filter(entry=OuterRef("pk"))
        shown = self.defer("verdict", "replacements", "note").annotate(was_changed=Exists(earlier))
        return shown.order_by("-created_at", "-pk")


class HistoryEntry(models.Model):
    """One diagnosis of an account. It outlives its job, whose id it has.

    `verdict` is the JSON text; the columns before it repeat what lists and filters ask for.
    `fingerprint` is that of an unrecognised failure (see `diagnosis.unknowns`); `engine` is that of
    catalogue and engine.
    """

    id = models.CharField(primary_key=True, max_length=26)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="history"
    )
    created_at = models.DateTimeField(help_text="When the log was pasted.")
    expires_at = models.DateTimeField(db_index=True)
    log_digest = models.CharField(max_length=64, help_text="Equal for equal logs.")
    asked_about = models.CharField(max_length=120, blank=True)

    outcome = models.CharField(max_length=20)
    failure = models.CharField(max_length=120, blank=True)
    category = models.CharField(max_length=40, blank=True)
    title = models.TextField(blank=True)
    summary = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    rank = models.IntegerField(null=True)
    host = models.TextField(blank=True)
    engine = models.CharField(max_length=64)
    verdict = models.TextField()
    read_at = models.DateTimeField(db_default=Now(), help_text="When the verdict was made.")
    replacements = models.JSONField(default=list, help_text="What was masked, without its text.")
    replaced = models.PositiveIntegerField(default=0)

    project = models.CharField(max_length=80, blank=True)
    note = models.TextField(max_length=2000, blank=True)
    share_key = models.CharField(  # noqa: DJ001 - NULL is what a unique column may repeat
        max_length=26, null=True, unique=True
    )

    rerun_asked_at = models.DateTimeField(null=True)
    tried_with = models.CharField(max_length=64, blank=True, help_text="As `engine`.")
    tries = models.PositiveSmallIntegerField(default=0)
    tried_at = models.DateTimeField(null=True)
    owner_is_to_be_told = models.BooleanField(default=False)

    objects = HistoryEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "history entries"
        ordering: ClassVar = ["-created_at", "-pk"]
        indexes: ClassVar = [
            models.Index(F("account"), F("created_at").desc(), name="history_newest"),
            models.Index(fields=["account", "failure", "fingerprint"], name="history_failure"),
            models.Index(fields=["fingerprint"], name="history_fingerprint"),
            models.Index(
                fields=["engine"], condition=Q(outcome="unrecognised"), name="history_unknown"
            ),
            models.Index(
                fields=["rerun_asked_at"],
                condition=Q(rerun_asked_at__isnull=False),
                name="history_rerun_asked",
            ),
            models.Index(
                fields=["account"], condition=Q(owner_is_to_be_told=True), name="history_untold"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id[:8]} {self.outcome}"

    @property
    def names_a_failure(self) -> bool:
        """Say whether the verdict names something that can come again."""
        return bool(self.failure or self.fingerprint)


class HistoryFile(models.Model):
    """One file of a masked log, compressed."""

    entry = models.ForeignKey(HistoryEntry, on_delete=models.CASCADE, related_name="files")
    number = models.PositiveSmallIntegerField(help_text="Its place in the paste, from 0.")
    name = models.CharField(max_length=120)
    lines = models.PositiveIntegerField()
    size = models.PositiveIntegerField(help_text="In bytes, before compression.")
    packed = models.BinaryField()

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["entry", "number"], name="history_file_once")
        ]

    def __str__(self) -> str:
        return f"file {self.number} of {self.entry_id[:8]}"

    @property
    def data(self) -> bytes:
        """The masked text."""
        return store.unpack(bytes(self.packed))


class EarlierVerdict(models.Model):
    """A verdict that a re-run replaced, as JSON text."""

    entry = models.ForeignKey(HistoryEntry, on_delete=models.CASCADE, related_name="earlier")
    verdict = models.TextField()
    made_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-made_at", "-pk"]

    def __str__(self) -> str:
        return f"earlier verdict of {self.entry_id[:8]}"
