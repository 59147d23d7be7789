"""The ingress: size limits → quota → mask → store → row → publish.

Nothing of a log is kept, queued or logged before it is masked, and nothing is taken from the
allowance unless a job is written.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import hmac
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from diagnosis import quota, store, tasks, visitors
from diagnosis.discretion import quoting_nothing
from diagnosis.engine import LogFile
from diagnosis.engine.masking import mask
from diagnosis.history import keeping
from diagnosis.models import Job, new_job_id
from diagnosis.paste import Upload, read_paste
from diagnosis.senders import Sender, log_limit_bytes

__all__ = ["BusyError", "QuarantinedError", "Submission", "submit"]

logger = logging.getLogger(__name__)

# Long enough that nobody has it by chance; the form's script makes 32 characters.
_NONCE = re.compile(r"[\w-]{16,64}", re.ASCII)

# Masking takes milliseconds for most logs and minutes for the worst, in the process that serves
# pages. Half of its threads may do it at once; who waits for longer than this is asked to return.
_PLACES_FOR_MASKING = threading.BoundedSemaphore(2)
_PATIENCE_SECONDS = 2.0


# For so long a log that ended every attempt is not tried again.
_QUARANTINE = dt.timedelta(hours=24)


class QuarantinedError(Exception):
    """This very log ended every attempt of an earlier job, and is not tried again so soon."""


class BusyError(Exception):
    """Other logs are being masked, and take longer than a visitor should wait."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a form sends. `nonce` is new for each form; `asked_about` names a failure's page."""

    text: str
    uploads: tuple[Upload, ...] = ()
    nonce: str = ""
    asked_about: str = ""


def submit(submission: Submission, sender: Sender) -> Job:
    """Turn a submission into a queued job, and return it; a double click returns the same job.

    Raises PasteError, QuarantinedError, quota.AllowanceSpentError, BusyError,
    store.StoreUnavailableError or discretion.EngineError; then nothing is kept and nothing is
    taken.
    """
    tier = sender.tier
    logs = read_paste(submission.text, submission.uploads, log_limit_bytes(tier))
    digest = _digest(logs)
    key = _submission_key(submission.nonce, digest, sender)
    earlier = _same_submission(key)
    if earlier is not None:
        return earlier
    _refuse_quarantined(digest)
    day = visitors.today()
    claim = sender.claim(day)
    # Asked here as well as in the transaction, so that a refused log is not worked on.
    quota.require(claim, day)
    job = Job(
        id=new_job_id(),
        tier=tier.key,
        account=sender.account,
        asked_about=submission.asked_about,
        log_digest=digest,
        submission_key=key,
        expires_at=timezone.now() + tier.keep_for,
    )
    with _place_for_masking(), quoting_nothing():
        masked = mask(logs)
    store.keep_log(job.pk, masked, int(keeping.time_in_store(tier).total_seconds()))
    return _write(job, claim, day)


@contextlib.contextmanager
def _place_for_masking() -> Iterator[None]:
    """Hold one of the places; raises BusyError where none becomes free in time."""
    if not _PLACES_FOR_MASKING.acquire(timeout=_PATIENCE_SECONDS):
        logger.warning("masking_is_busy")
        raise BusyError
    try:
        yield
    finally:
        _PLACES_FOR_MASKING.release()


def _write(job: Job, claim: quota.Claim, day: dt.date) -> Job:
    """Write the row and take the allowance in one transaction, then publish.

    Returns the job, or that of the other click where one came first. The kept log goes with the
    row: where none is written, none stays.
    """
    with contextlib.ExitStack() as undo:
        undo.callback(_forget_log, job)
        try:
            with transaction.atomic():
                # The row first: a second click waits here for the first, and takes nothing.
                job.save(force_insert=True)
                quota.take(job, claim, day)
        except IntegrityError:
            earlier = _same_submission(job.submission_key)
            if earlier is None:
                raise
            return earlier
        undo.pop_all()
    logger.info("job_queued", extra={"queued": job.mark, "tier": job.tier})
    tasks.publish(job.pk, job.tier)
    return job


def _forget_log(job: Job) -> None:
    try:
        store.delete(job.pk)
    except store.StoreUnavailableError:
        # It expires by itself; no row leads to it.
        logger.warning("log_left_behind", extra={"queued": job.mark})


def _refuse_quarantined(digest: str) -> None:
    recent = Job.objects.filter(created_at__gt=Now() - _QUARANTINE)
    if recent.quarantined().filter(log_digest=digest).exists():
        raise QuarantinedError


def _same_submission(key: str | None) -> Job | None:
    return None if key is None else Job.objects.live().filter(submission_key=key).first()


def _submission_key(nonce: str, digest: str, sender: Sender) -> str | None:
    """Return what is equal for two clicks on one button; None where the form brought no nonce.

    The log is part of it: who goes back and changes the text sends something new. So is the
    account: who logs in between gets a job of the account.
    """
    account = sender.account.pk if sender.account else ""
    return _keyed(f"{account}\0{nonce}\0{digest}".encode()) if _NONCE.fullmatch(nonce) else None


def _digest(logs: Sequence[LogFile]) -> str:
    """Return a digest of the files that only this installation can compute."""
    content = hashlib.sha256()
    for log in logs:
        content.update(f"{log.name}\0{len(log.data)}\0".encode())
        content.update(log.data)
    return _keyed(content.digest())


def _keyed(data: bytes) -> str:
    return hmac.digest(settings.SECRET_KEY.encode(), data, hashlib.sha256).hex()
