"""From a catalogue that does not know a failure to one that does, with real workers and mail."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from django.conf import settings
from redis import Redis

from denpex.accounts.models import User
from denpex.celery import HOUSEKEEPING, app
from denpex.cli_mail import newest
from denpex.mail.models import WaitingMail
from diagnosis.history import tasks
from diagnosis.history.models import HistoryEntry
from diagnosis.models import Job
from tests.conftest import StartProcess
from tests.diagnosis.history.conftest import OUT_OF_MEMORY, SMALL_CATALOGUE, browser_of
from tests.diagnosis.test_faults import is_, wait_for

pytestmark = pytest.mark.django_db(transaction=True)


def mails() -> list[Path]:
    return list(newest({"DENPEX_DATA": str(settings.DENPEX_DATA)}))


def test_an_unknown_log_is_read_again_by_itself_and_its_owner_told(
    alice: User, start_worker: StartProcess, redis: Redis
) -> None:
    old_site = start_worker(
        "--include=tests.diagnosis.history.small_catalogue",
        DENPEX_TEST_CATALOGUE=str(SMALL_CATALOGUE),
    )
    browser = browser_of(alice)
    address = browser.post("/diagnose/", {"log": OUT_OF_MEMORY.decode()})["Location"]
    job = Job.objects.get()
    wait_for(is_(job, Job.State.DONE))
    entry = HistoryEntry.objects.get()
    assert (address, entry.outcome) == (f"/d/{entry.pk}/", "unrecognised")
    wait_for(lambda: not redis.keys("diagnosis:*"))
    old_site.end(patience=5)

    new_site = start_worker()
    before = len(mails())
    tasks.sweep.apply_async(queue=HOUSEKEEPING)
    wait_for(lambda: HistoryEntry.objects.filter(failure="cuda-out-of-memory").exists())
    tasks.sweep.apply_async(queue=HOUSEKEEPING)
    wait_for(lambda: len(mails()) > before and not WaitingMail.objects.exists())

    mail = mails()[0].read_text()
    assert "A failure of yours is known now" in mail
    assert f"/d/{entry.pk}/" in mail
    assert "became" in browser.get(address).text
    logged = new_site.last_lines()
    assert "rerun_done" in logged
    assert "OutOfMemoryError" not in logged
    assert entry.pk not in logged


def test_an_asked_rerun_reaches_a_worker(
    alice: User, start_worker: StartProcess, redis: Redis
) -> None:
    start_worker()
    browser = browser_of(alice)
    browser.post("/diagnose/", {"log": OUT_OF_MEMORY.decode()})
    wait_for(is_(Job.objects.get(), Job.State.DONE))
    HistoryEntry.objects.update(engine="an older one")

    browser.post(f"/account/history/{Job.objects.get().pk}/rerun/")

    wait_for(lambda: HistoryEntry.objects.filter(rerun_asked_at=None).exists())
    assert not HistoryEntry.objects.filter(engine="an older one").exists()


def test_a_message_that_got_lost_is_sent_again_by_the_sweep(
    alice: User, start_worker: StartProcess, redis: Redis
) -> None:
    worker = start_worker()
    browser = browser_of(alice)
    browser.post("/diagnose/", {"log": OUT_OF_MEMORY.decode()})
    wait_for(is_(Job.objects.get(), Job.State.DONE))
    HistoryEntry.objects.update(engine="an older one")
    os.kill(worker.process.pid, signal.SIGSTOP)
    browser.post(f"/account/history/{Job.objects.get().pk}/rerun/")
    redis.delete("reruns")
    os.kill(worker.process.pid, signal.SIGCONT)

    tasks.sweep.apply_async(queue=HOUSEKEEPING)

    wait_for(lambda: HistoryEntry.objects.filter(rerun_asked_at=None).exists())


def test_the_schedule_names_tasks_that_there_are() -> None:
    app.loader.import_default_modules()

    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}

    assert "diagnosis.history.tasks.sweep" in scheduled
    assert scheduled <= set(app.tasks)
