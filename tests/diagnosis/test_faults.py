"""What goes wrong while a paste is on its way, with the real worker, beat, broker and database.

Whatever happens, within a minute each job is answered once, or failed with its allowance back.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

from denpex.accounts.tiers import ANONYMOUS
from denpex.celery import HARD_TIME_LIMIT_SECONDS, SOFT_TIME_LIMIT_SECONDS
from denpex.processes import Child
from diagnosis import jobs, store
from diagnosis.models import Job, TaskCount
from diagnosis.senders import Sender
from diagnosis.store import StoreUnavailableError
from diagnosis.submission import QuarantinedError, Submission, submit
from diagnosis.tasks import run_job
from diagnosis.visitors import Visitor

pytestmark = pytest.mark.django_db(transaction=True)

StartProcess = Callable[..., Child]

LIMIT_SECONDS = 60
# What is answered earlier did not have to wait for a lease to lapse.
LEASE_SECONDS = jobs.LEASE.total_seconds()
LOG = "Traceback (most recent call last):\nKeyError: 'labels'\n" * 5
SENDER = Sender(ANONYMOUS, Visitor("203.0.113.7", "one"))


def paste(fault: str = "") -> Job:
    """Submit a log as the form does; `fault` is one of `faults`."""
    head = f"#fault: {fault}\n" if fault else ""
    return submit(Submission(text=head + LOG), SENDER)


def left() -> int:
    return SENDER.allowance().left


def wait_for(condition: Callable[[], bool], seconds: float = LIMIT_SECONDS) -> float:
    """Return after how many seconds the condition held; fail where it never does."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "it did not come to pass in time"
        time.sleep(0.05)
    return time.monotonic() - start


def is_(job: Job, state: Job.State) -> Callable[[], bool]:
    def check() -> bool:
        job.refresh_from_db()
        return job.state == state

    return check


def answered(job: Job) -> Callable[[], bool]:
    return is_(job, Job.State.DONE)


def failed(job: Job) -> Callable[[], bool]:
    return is_(job, Job.State.FAILED)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    path.touch()
    return path


def readings(journal: Path) -> list[int]:
    """Return the process ids that began to read a faulty log, in order."""
    return [int(line.split()[1]) for line in journal.read_text().splitlines()]


@pytest.fixture
def start_faulty_worker(start_worker: StartProcess, journal: Path) -> StartProcess:
    def start(time_limits: str = "") -> Child:
        return start_worker(
            "--include=tests.diagnosis.faults",
            DENPEX_TEST_FAULTS=str(journal),
            DENPEX_TEST_TIME_LIMITS=time_limits,
        )

    return start


@pytest.fixture
def faulty_worker(start_faulty_worker: StartProcess) -> Child:
    return start_faulty_worker()


@pytest.fixture
def beat(start_beat: StartProcess) -> Child:
    return start_beat()


@contextlib.contextmanager
def stopped(redis: Redis) -> Iterator[None]:
    """Stop Redis as a machine in trouble does: connections stay, and nothing answers."""
    pid = redis.info("server")["process_id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_it_works(worker: Child) -> None:
    job = paste()

    assert wait_for(answered(job)) < LEASE_SECONDS
    assert store.read_verdict(job.pk)
    assert left() == 2


def test_child_killed_in_mid_job_is_answered_by_the_next(faulty_worker: Child) -> None:
    job = paste("kill_once")

    assert wait_for(answered(job)) < LEASE_SECONDS
    assert job.attempts == 2
    assert left() == 2


def test_log_that_kills_each_child_fails_is_refunded_and_set_aside(
    faulty_worker: Child, beat: Child, journal: Path
) -> None:
    job = paste("kill")

    wait_for(failed(job))

    assert (job.failure_reason, job.attempts) == (Job.FailureReason.ATTEMPTS_SPENT, 3)
    assert left() == 3
    with pytest.raises(QuarantinedError):
        paste("kill")
    time.sleep(6)  # One sweep later it is still at rest.
    assert len(readings(journal)) == 3
    other = paste()
    assert wait_for(answered(other)) < LEASE_SECONDS


def test_log_that_kills_the_whole_worker_each_time_fails_in_time(
    start_faulty_worker: StartProcess, beat: Child, journal: Path
) -> None:
    job = paste("kill_worker")
    started = time.monotonic()

    while not failed(job)():
        assert time.monotonic() - started < LIMIT_SECONDS
        worker = start_faulty_worker()
        wait_for(lambda: worker.has_ended() or failed(job)())  # noqa: B023

    assert len(readings(journal)) == 3
    assert left() == 3


def test_whole_worker_killed_is_answered_by_another(
    start_faulty_worker: StartProcess, beat: Child, journal: Path
) -> None:
    first = start_faulty_worker()
    job = paste("slow 4")
    wait_for(lambda: bool(readings(journal)))

    os.killpg(first.process.pid, signal.SIGKILL)
    start_faulty_worker()

    wait_for(answered(job))
    assert job.attempts == 2
    assert left() == 2


def test_terminated_worker_finishes_what_it_holds(
    start_faulty_worker: StartProcess, journal: Path
) -> None:
    worker = start_faulty_worker()
    job = paste("slow 3")
    wait_for(lambda: bool(readings(journal)))

    worker.process.send_signal(signal.SIGTERM)

    wait_for(answered(job))
    assert job.attempts == 1
    wait_for(worker.has_ended)


def test_terminated_worker_leaves_what_it_had_not_begun_to_another(
    start_faulty_worker: StartProcess, beat: Child, journal: Path
) -> None:
    worker = start_faulty_worker()
    held, waiting = paste("slow 3"), paste()
    wait_for(lambda: bool(readings(journal)))

    worker.process.send_signal(signal.SIGTERM)
    wait_for(worker.has_ended)
    start_faulty_worker()

    wait_for(answered(held))
    wait_for(answered(waiting))


def test_time_limits_leave_room_for_a_refund_within_the_minute() -> None:
    assert SOFT_TIME_LIMIT_SECONDS < HARD_TIME_LIMIT_SECONDS < jobs.LEASE.total_seconds()
    assert jobs.MAX_TIMED_OUT_ATTEMPTS * HARD_TIME_LIMIT_SECONDS < LIMIT_SECONDS / 2 + 1


@pytest.fixture
def limit_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], str]:
    """Shorten the time limits where messages are made: here, and (by the answer) in the worker.

    The task's own attributes would not do: Celery reads them at a process's first message, and
    keeps what it read for all later ones, those of other tests included.
    """

    def limit(soft: float, hard: float) -> str:
        send = partial(run_job.apply_async, soft_time_limit=soft, time_limit=hard)
        monkeypatch.setattr(run_job, "apply_async", send)
        return f"{soft} {hard}"

    return limit


def test_hard_time_limit_ends_a_log_that_cannot_be_read(
    start_faulty_worker: StartProcess,
    journal: Path,
    limit_time: Callable[[float, float], str],
) -> None:
    start_faulty_worker(time_limits=limit_time(1, 2))
    job = paste("deaf 30")

    wait_for(failed(job))

    assert len(set(readings(journal))) == 2
    assert left() == 3


def test_soft_time_limit_ends_the_attempt_without_ending_the_process(
    start_faulty_worker: StartProcess,
    journal: Path,
    limit_time: Callable[[float, float], str],
) -> None:
    start_faulty_worker(time_limits=limit_time(1, 6))
    job = paste("slow 30")

    wait_for(failed(job))

    assert len(readings(journal)) == 2
    assert len(set(readings(journal))) == 1
    assert left() == 3


def test_engine_error_fails_without_a_word_of_the_log_in_any_log(
    faulty_worker: Child, journal: Path
) -> None:
    job = paste("quote")

    wait_for(failed(job))
    told = "ValueError at faults.py"
    wait_for(lambda: told in faulty_worker.log.read_text())

    assert "labels" not in faulty_worker.log.read_text()
    assert left() == 3


def test_broker_flushed_while_queued_fails_at_once_and_refunds(
    redis: Redis, start_worker: StartProcess, beat: Child
) -> None:
    job = paste()
    redis.flushall()
    start_worker()

    assert wait_for(failed(job)) < 30
    assert job.failure_reason == Job.FailureReason.LOG_LOST
    assert left() == 3


def test_message_lost_is_sent_again(redis: Redis, start_worker: StartProcess, beat: Child) -> None:
    job = paste()
    redis.delete("diagnosis")  # the queue alone; the log stays
    start_worker()

    wait_for(answered(job))
    assert left() == 2


def test_broker_stopped_while_queued_is_answered_when_it_goes_on(
    redis: Redis, faulty_worker: Child, beat: Child
) -> None:
    held = paste("slow 2")
    waiting = paste()
    with stopped(redis):
        time.sleep(8)

    wait_for(answered(held))
    wait_for(answered(waiting))
    assert left() == 1


def test_broker_stopped_at_submission_takes_nothing(redis: Redis) -> None:
    with stopped(redis):
        start = time.monotonic()
        with pytest.raises(StoreUnavailableError):
            paste()
        waited = time.monotonic() - start

    assert waited < 5
    assert left() == 3
    assert not Job.objects.exists()


def test_full_store_takes_nothing(redis: Redis) -> None:
    before = redis.config_get("maxmemory")["maxmemory"] or "0"
    redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreUnavailableError):
            paste()
    finally:
        redis.config_set("maxmemory", before)

    assert left() == 3
    assert not Job.objects.exists()


def test_message_delivered_twice_is_answered_once(faulty_worker: Child, journal: Path) -> None:
    job = paste("slow 1")
    run_job.apply_async([job.pk], queue="diagnosis")

    wait_for(answered(job))
    run_job.apply_async([job.pk], queue="diagnosis")
    counts = TaskCount.objects.filter(task=run_job.name)
    wait_for(lambda: counts.filter(event="done", count=3).exists())

    assert len(readings(journal)) == 1
    assert job.attempts == 1


def test_job_deleted_while_it_is_read_leaves_no_verdict(
    redis: Redis, faulty_worker: Child, journal: Path
) -> None:
    job = paste("slow 1")
    wait_for(lambda: bool(readings(journal)))

    jobs.delete(job.pk)
    wait_for(lambda: TaskCount.objects.filter(task=run_job.name, event="done").exists())

    assert not redis.keys(f"diagnosis:{job.pk}:*")
    assert not Job.objects.exists()


def test_log_lines_name_the_job_and_never_open_it(worker: Child) -> None:
    job = paste()
    wait_for(answered(job))
    wait_for(lambda: '"job_done"' in worker.log.read_text())

    output = worker.log.read_text()
    (done,) = [json.loads(line) for line in output.splitlines() if '"job_done"' in line]
    assert (done["job"], done["task"]) == (job.mark, run_job.name)
    assert job.pk not in output
