"""Celery tasks: load by id, call the engine, save. What they log never holds log text.

A worker that dies is noticed as early as can be: a killed or timed-out child by the worker's main
process, a killed worker by the next one of its name, and everything else by its lapsed lease.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import kombu.exceptions
import redis
from billiard.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded, WorkerLostError
from celery import Task
from celery.signals import task_failure, worker_init, worker_ready

from denpex.accounts.tiers import TIERS
from denpex.celery import HOUSEKEEPING, app
from diagnosis import housekeeping, jobs, log_context, store, task_counts
from diagnosis.discretion import EngineError, quoting_nothing
from diagnosis.engine import diagnose
from diagnosis.models import Job
from diagnosis.preloaded import compiled

__all__ = ["CountedTask", "end_attempt", "prune", "publish", "run_job", "send", "sweep"]

logger = logging.getLogger(__name__)

_BROKER_OUTAGES = (kombu.exceptions.OperationalError, redis.RedisError, OSError)


@dataclass
class _Worker:
    """The worker that this process belongs to; its children inherit it."""

    name: str = ""
    holder: str = ""


_worker = _Worker()


class CountedTask(Task):
    """A task whose runs are counted, and whose log lines name the task and the job."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task; its first positional argument, if any, is the id of a job."""
        job = {"job": args[0][: Job.MARK_LENGTH]} if args else {}
        with log_context.bound(task=self.name, **job):
            task_counts.count(self.name, "start")
            try:
                result = self.run(*args, **kwargs)
            except BaseException:
                task_counts.count(self.name, "failed")
                raise
            task_counts.count(self.name, "done")
            return result


def publish(job_id: str, tier: str) -> bool:
    """Tell the workers of a queued job; say whether the broker took it.

    A message that the broker did not take is published again by the sweep.
    """
    return send(run_job, TIERS[tier].queue, job_id)


@app.task(base=CountedTask, bind=True)
def run_job(self: Task, job_id: str) -> None:
    """Answer one job: hold it by a lease, run the engine, write the verdict."""
    lease = _lease(self.request.id)
    if not jobs.take_lease(job_id, lease):
        logger.info("job_not_free")
        return
    try:
        _answer(job_id, lease)
    except store.StoreUnavailableError as error:
        logger.warning("store_unavailable", extra={"error": str(error)})
        jobs.put_back(job_id, lease)
    except EngineError:
        _end_attempt(job_id, lease)
        raise
    except SoftTimeLimitExceeded:
        _end_attempt(job_id, lease, jobs.MAX_TIMED_OUT_ATTEMPTS)
        raise


@app.task(base=CountedTask)
def end_attempt(job_id: str, lease: str, *, most: int) -> None:
    """End the attempt of a process that died, so that the next one need not await the lease."""
    _end_attempt(job_id, lease, most)


@app.task(base=CountedTask)
def end_attempts_of_predecessors(*, worker: str, holder: str) -> None:
    """End the attempts that earlier lives of a worker died with."""
    for job_id, lease in jobs.left_by_predecessors(worker, holder):
        _end_attempt(job_id, lease)


@app.task(base=CountedTask)
def sweep() -> None:
    """Publish again what got lost; fail what cannot be answered any more."""
    for job in jobs.overdue():
        logger.info("job_published_again", extra={"overdue": job.mark})
        if not publish(job.pk, job.tier):
            break


@app.task(base=CountedTask)
def prune() -> None:
    """Remove what is kept for a time only."""
    housekeeping.prune()


@worker_init.connect
def _prepare(sender: Any, **_kwargs: Any) -> None:
    _worker.name = sender.hostname
    _worker.holder = f"{sender.hostname}/{secrets.token_hex(4)}"
    compiled()


@worker_ready.connect
def _take_over(**_kwargs: Any) -> None:
    names = {"worker": _worker.name, "holder": _worker.holder}
    send(end_attempts_of_predecessors, HOUSEKEEPING, **names)


@task_failure.connect(sender=run_job)
def _end_dead_attempt(
    task_id: str, exception: BaseException, args: Sequence[str], **_kwargs: Any
) -> None:
    """Hear of a killed process where it is known at once: in the worker's main process.

    That process keeps no database connection, since its children would inherit it.
    """
    if isinstance(exception, WorkerLostError):
        send(end_attempt, HOUSEKEEPING, args[0], _lease(task_id), most=jobs.MAX_ATTEMPTS)
    elif isinstance(exception, TimeLimitExceeded):
        most = jobs.MAX_TIMED_OUT_ATTEMPTS
        send(end_attempt, HOUSEKEEPING, args[0], _lease(task_id), most=most)


def _lease(task_id: str) -> str:
    return f"{_worker.holder}/{task_id}"


def _answer(job_id: str, lease: str) -> None:
    logs = store.read_log(job_id)
    if logs is None:
        jobs.fail(Job.objects.held_by(job_id, lease), Job.FailureReason.LOG_LOST)
        logger.warning("log_lost")
        return
    with quoting_nothing(except_for=(SoftTimeLimitExceeded,)):
        verdict = diagnose(logs, compiled())
    finished = jobs.finish(job_id, lease, verdict.as_json())
    logger.info("job_done" if finished else "lease_lost", extra={"outcome": verdict.outcome})


def _end_attempt(job_id: str, lease: str, most: int = jobs.MAX_ATTEMPTS) -> None:
    job = jobs.give_up_lease(job_id, lease, most)
    if job is not None:
        publish(job.pk, job.tier)


def send(task: Task, queue: str, *args: str, **kwargs: str | int) -> bool:
    """Give the broker a task whose positional arguments are ids; say whether it took it."""
    # What Celery writes into logs: a whole job id would open the job's page to their readers.
    shown = repr(tuple(arg[: Job.MARK_LENGTH] for arg in args))
    try:
        task.apply_async(args, kwargs, queue=queue, argsrepr=shown)
    except _BROKER_OUTAGES as error:
        logger.warning("publish_failed", extra={"error": type(error).__name__})
        return False
    return True
