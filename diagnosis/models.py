"""What the database keeps of a diagnosis: the job, its allowance, counts. Never any log text."""

from __future__ import annotations

import base64
import secrets
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from denpex.accounts.models import User
from denpex.accounts.tiers import TIERS, tiers_of_queue

__all__ = [
    "AllowanceCount",
    "AllowanceEntry",
    "DailySalt",
    "Job",
    "JobQuerySet",
    "TaskCount",
    "UnknownFailure",
    "WelcomeCount",
    "new_job_id",
]

_ID_BYTES = 16


def new_job_id() -> str:
    """Return an id that cannot be guessed (128 random bits): whoever knows it may read the verdict.

    Lower-case letters and digits alone, so that a double click selects all of it.
    """
    return base64.b32encode(secrets.token_bytes(_ID_BYTES)).decode().rstrip("=").lower()


class JobQuerySet(models.QuerySet["Job"]):
    """The questions that are asked of jobs; times are the database's."""

    def seen_by(self, account: User | None) -> JobQuerySet:
        """Select jobs that belong to nobody, and those of `account`: no other may be opened."""
        nobody = Q(account__isnull=True)
        return self.filter(nobody if account is None else nobody | Q(account=account))

    def live(self) -> JobQuerySet:
        """Select jobs whose log has not expired."""
        return self.filter(expires_at__gt=Now())

    def expired(self) -> JobQuerySet:
        """Select jobs whose log is gone by age."""
        return self.filter(expires_at__lte=Now())

    def queued(self) -> JobQuerySet:
        """Select jobs that wait for a worker."""
        return self.filter(state=Job.State.QUEUED)

    def lapsed(self) -> JobQuerySet:
        """Select running jobs whose worker has not come back in time."""
        return self.filter(state=Job.State.RUNNING, lease_until__lte=Now())

    def held_by(self, job_id: str, lease: str) -> JobQuerySet:
        """Select the job, where this lease still holds it."""
        return self.filter(pk=job_id, state=Job.State.RUNNING, lease=lease)

    def quarantined(self) -> JobQuerySet:
        """Select jobs whose log ended every attempt, and is not tried again."""
        return self.filter(state=Job.State.FAILED, failure_reason=Job.FailureReason.ATTEMPTS_SPENT)


class Job(models.Model):
    """One paste on its way to a verdict. This row is the truth; Celery carries only its id.

    A worker holds a job by a lease, and may write to it only while the lease is its own.
    """

    class State(models.TextChoices):
        """Where a job stands."""

        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    class FailureReason(models.TextChoices):
        """Why a job failed. Every reason is a fault of ours, so that each refunds the allowance."""

        LOG_LOST = "log_lost"
        ATTEMPTS_SPENT = "attempts_spent"

    id = models.CharField(primary_key=True, max_length=26, default=new_job_id, editable=False)
    tier = models.CharField(max_length=20)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.CASCADE,
        related_name="jobs",
        help_text="Who alone may see it; nobody where whoever knows the id may.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    lease = models.CharField(max_length=255, default="", blank=True)
    lease_until = models.DateTimeField(null=True)
    failure_reason = models.CharField(
        max_length=20, choices=FailureReason.choices, default="", blank=True
    )
    asked_about = models.SlugField(
        max_length=120,
        default="",
        blank=True,
        help_text="The failure whose page the paste came from.",
    )
    log_digest = models.CharField(
        max_length=64,
        help_text="A keyed digest of the log: tells a quarantined log without holding its text.",
    )
    submission_key = models.CharField(  # noqa: DJ001 - NULL is what a unique column may repeat
        max_length=64,
        null=True,
        unique=True,
        help_text="Form nonce and log, as one digest: a double click is one job.",
    )
    created_at = models.DateTimeField(db_default=Now())
    published_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    objects = JobQuerySet.as_manager()

    MARK_LENGTH: ClassVar = 8

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["created_at"],
                condition=Q(state__in=["queued", "running"]),
                name="job_unfinished",
            ),
            models.Index(fields=["log_digest"], name="job_log_digest"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="running", lease_until__isnull=False) & ~Q(lease="")
                | ~Q(state="running") & Q(lease="", lease_until__isnull=True),
                name="job_running_has_lease",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.mark} {self.state}"

    @property
    def mark(self) -> str:
        """The beginning of the id: enough to find a job in a log, too little to open its page."""
        return self.id[: self.MARK_LENGTH]

    def place_in_line(self) -> int:
        """Return how many jobs of its queue are to start until this one has: 1 is the next."""
        ahead = Job.objects.queued().filter(
            tier__in=tiers_of_queue(TIERS[self.tier].queue), created_at__lt=self.created_at
        )
        return ahead.count() + 1


class DailySalt(models.Model):
    """The random key of one day's digests; removed afterwards, so that none can be made again."""

    day = models.DateField(primary_key=True)
    salt = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        return str(self.day)


class AllowanceCount(models.Model):
    """How many diagnoses one subject (an address, a visitor) took on one day (UTC)."""

    day = models.DateField()
    subject = models.CharField(max_length=64)
    used = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["day", "subject"], name="allowance_count_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.used}"


class WelcomeCount(models.Model):
    """How many of the diagnoses that a new account gets besides its days it has used."""

    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    used = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.account_id} {self.used}"


class AllowanceEntry(models.Model):
    """What one job took, and on which day; a refund deletes it, so that none is made twice.

    `welcome` says that it took none of a day's, but one of those that a new account gets.
    """

    job = models.OneToOneField(
        Job, primary_key=True, on_delete=models.CASCADE, related_name="allowance_entry"
    )
    day = models.DateField()
    subjects = ArrayField(models.CharField(max_length=64), help_text="In the order of locking.")
    welcome = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.day} {self.job_id[: Job.MARK_LENGTH]}"


class UnknownFailure(models.Model):
    """A failure that no signature knows, as a fingerprint and how often it came.

    A curator marks it done; where it comes again after that, it is open again.
    """

    fingerprint = models.CharField(primary_key=True, max_length=64)
    count = models.PositiveIntegerField(default=1)
    first_seen = models.DateTimeField(db_default=Now())
    last_seen = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = [F("count").desc(), F("last_seen").desc()]

    def __str__(self) -> str:
        return f"{self.fingerprint[:12]}: {self.count}"


class TaskCount(models.Model):
    """How often a task started, was done or failed on one day (UTC)."""

    day = models.DateField()
    task = models.CharField(max_length=100)
    event = models.CharField(max_length=10)
    count = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["day", "task", "event"], name="task_count_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.task} {self.event}: {self.count}"
