"""The life of a job: queued, held by a lease, answered once, or failed and refunded.

Each step is one UPDATE that says what must still be true, so that messages may be lost or come
twice and workers may die at any point.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Greatest, Now
from django.utils import timezone

from denpex.accounts.models import User
from diagnosis import quota, store, unknowns
from diagnosis.history import keeping
from diagnosis.history.models import HistoryEntry
from diagnosis.models import Job

__all__ = [
    "LEASE",
    "MAX_ATTEMPTS",
    "MAX_TIMED_OUT_ATTEMPTS",
    "delete",
    "delete_all",
    "fail",
    "finish",
    "give_up_lease",
    "left_by_predecessors",
    "overdue",
    "put_back",
    "take_lease",
]

logger = logging.getLogger(__name__)

# Longer than a task's hard time limit, so that a lapsed lease means a dead worker.
LEASE = dt.timedelta(seconds=20)
MAX_ATTEMPTS = 3
# What ran out of time once most likely does so again, and a third time would pass the minute.
MAX_TIMED_OUT_ATTEMPTS = 2
# How long a message may take to reach a worker before it counts as lost.
_PATIENCE = dt.timedelta(seconds=10)
# Where a long line waits, only its head is published again: a bound on messages in the broker.
_REPUBLISHED_AT_ONCE = 100

_FREE = {"state": Job.State.QUEUED, "lease": "", "lease_until": None}


def take_lease(job_id: str, lease: str) -> bool:
    """Begin an attempt: hold the job by `lease`, if it is queued or its lease lapsed."""
    free = Job.objects.queued() | Job.objects.lapsed()
    taken = free.filter(pk=job_id, attempts__lt=MAX_ATTEMPTS).update(
        state=Job.State.RUNNING,
        attempts=F("attempts") + 1,
        lease=lease,
        lease_until=Now() + LEASE,
        started_at=Coalesce(F("started_at"), Now()),
    )
    return taken == 1


def finish(job_id: str, lease: str, verdict: str) -> bool:
    """Answer the job with a verdict (JSON text), if this lease still holds it.

    The row is locked until the verdict is in the history of its account, or else in the store: a
    job that is done has its verdict, and one that is deleted meanwhile leaves none behind. Raises
    StoreUnavailableError or EngineError; the job then stays as it was. A log that could not be read
    costs nothing.
    """
    with transaction.atomic():
        done = Job.objects.held_by(job_id, lease).update(
            state=Job.State.DONE, lease="", lease_until=None, finished_at=Now()
        )
        if not done:
            return False
        job = Job.objects.get(pk=job_id)
        content: Mapping[str, Any] = json.loads(verdict)
        if content["outcome"] == "unreadable":
            quota.refund(job_id)
        if content["outcome"] == "unrecognised":
            unknowns.count(content)
        if keeping.keep(job, verdict, content):
            transaction.on_commit(lambda: _forget(job))
        else:
            store.keep_verdict(job_id, verdict, seconds_left(job))
    return True


def _forget(job: Job) -> None:
    """Remove from the store what the history holds now."""
    try:
        store.delete(job.pk)
    except store.StoreUnavailableError:
        # It expires by itself, within a day.
        logger.warning("log_left_behind", extra={"kept": job.mark})


def give_up_lease(job_id: str, lease: str, most: int = MAX_ATTEMPTS) -> Job | None:
    """End an attempt that brought no answer; return the job if it waits for another one.

    Where there were `most` attempts already, the job fails instead.
    """
    held = Job.objects.held_by(job_id, lease)
    if held.filter(attempts__lt=most).update(**_FREE, published_at=Now()):
        return Job.objects.queued().filter(pk=job_id).first()
    fail(held, Job.FailureReason.ATTEMPTS_SPENT)
    return None


def left_by_predecessors(worker: str, holder: str) -> Sequence[tuple[str, str]]:
    """Return the jobs (id and lease) that earlier lives of a worker died with.

    A lease begins with the name of the worker and a mark of its present life (`holder`).
    """
    running = Job.objects.filter(state=Job.State.RUNNING, lease__startswith=f"{worker}/")
    return list(running.exclude(lease__startswith=f"{holder}/").values_list("pk", "lease"))


def put_back(job_id: str, lease: str) -> None:
    """Undo an attempt that could not begin because a service was away."""
    Job.objects.held_by(job_id, lease).update(
        **_FREE, attempts=Greatest(F("attempts") - 1, 0), published_at=Now()
    )


def fail(jobs: QuerySet[Job], reason: Job.FailureReason) -> None:
    """Fail those of `jobs` that are not finished, and refund each.

    One transaction for each job: two jobs may share an address and not a visitor, so that refunding
    both at once would lock counts out of order.
    """
    unfinished = jobs.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])
    for job_id in list(unfinished.values_list("pk", flat=True)):
        with transaction.atomic():
            failed = unfinished.filter(pk=job_id).update(
                state=Job.State.FAILED,
                failure_reason=reason,
                lease="",
                lease_until=None,
                # The same log may be sent again at once.
                submission_key=None,
                finished_at=Now(),
            )
            if failed:
                quota.refund(job_id)


def overdue() -> Sequence[Job]:
    """Set straight what was lost on the way, and return the jobs to be published again.

    Those are jobs that have been queued for a while, and jobs whose worker is gone. What has no
    attempt left, or no log any more, fails.
    """
    lapsed = Job.objects.lapsed()
    fail(lapsed.filter(attempts__gte=MAX_ATTEMPTS), Job.FailureReason.ATTEMPTS_SPENT)
    fail(Job.objects.queued().expired(), Job.FailureReason.LOG_LOST)
    waiting = Job.objects.queued().filter(published_at__lte=Now() - _PATIENCE)
    with transaction.atomic():
        jobs = list(
            (waiting | lapsed)
            .filter(attempts__lt=MAX_ATTEMPTS)
            .order_by("created_at")
            .select_for_update(skip_locked=True)[:_REPUBLISHED_AT_ONCE]
        )
        Job.objects.filter(pk__in=[job.pk for job in jobs]).update(**_FREE, published_at=Now())
    return jobs


def delete(job_id: str) -> bool:
    """Remove a job with its log and verdict, from the history too; say whether there was one.

    Raises StoreUnavailableError, and then nothing is removed.
    """
    with transaction.atomic():
        # Locked before its allowance entry, as everywhere.
        job = Job.objects.select_for_update().filter(pk=job_id).first()
        kept, _ = HistoryEntry.objects.filter(pk=job_id).delete()
        if job is not None:
            job.delete()
        elif not kept:
            return False
        store.delete(job_id)
    return True


def delete_all(account: User) -> int:
    """Remove every verdict of an account with its log; return how many it kept.

    What still waits for its verdict stays. Raises StoreUnavailableError, and then nothing is
    removed.
    """
    over = (Job.State.DONE, Job.State.FAILED)
    with transaction.atomic():
        ended = account.jobs.select_for_update().filter(state__in=over).order_by("pk")
        jobs = set(ended.values_list("pk", flat=True))
        kept = set(account.history.values_list("pk", flat=True))
        HistoryEntry.objects.filter(pk__in=kept).delete()
        Job.objects.filter(pk__in=jobs | kept).delete()
        for job_id in jobs | kept:
            store.delete(job_id)
    return len(kept)


def seconds_left(job: Job) -> int:
    """Return for how long the job's log and verdict are still kept, at least a second."""
    return max(int((job.expires_at - timezone.now()).total_seconds()), 1)
