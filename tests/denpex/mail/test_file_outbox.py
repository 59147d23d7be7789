"""Mail on one machine: sent by a real worker, into files that `denpex mail` shows."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from redis import Redis

from denpex.mail import outbox
from denpex.mail.models import WaitingMail
from tests.conftest import StartProcess

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mail"


def post(recipient: str = "bob@example.org") -> None:
    outbox.post("unknown_account", recipient, {"email": recipient})


def wait_until_sent() -> None:
    deadline = time.monotonic() + 30
    while WaitingMail.objects.exists():
        assert time.monotonic() < deadline, "the mail was not sent in time"
        time.sleep(0.05)


def denpex_mail(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "denpex.cli", "mail", *arguments],
        env={"DENPEX_DATA": str(data), "PYTHONPATH": str(settings.BASE_DIR)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_worker_writes_it_for_its_owner_alone(
    redis: Redis, start_worker: StartProcess, tmp_path: Path, folder: Path
) -> None:
    start_worker(DENPEX_DATA=str(tmp_path))
    post()
    wait_until_sent()

    (file,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert denpex_mail(tmp_path).stdout.endswith(
        "bob@example.org  No account at Denpex has this address\n"
    )
    shown = denpex_mail(tmp_path, "1").stdout
    assert "Subject: No account at Denpex has this address" in shown
    assert "for bob@example.org at Denpex" in shown
    assert str(file) in shown


def test_what_lost_its_message_is_found_by_the_sweep(
    redis: Redis,
    start_worker: StartProcess,
    start_beat: StartProcess,
    tmp_path: Path,
    folder: Path,
) -> None:
    post()
    redis.flushall()
    start_worker(DENPEX_DATA=str(tmp_path))
    from denpex.mail.tasks import sweep

    sweep.apply_async(queue="housekeeping")
    wait_until_sent()

    assert len(list(folder.glob("*.eml"))) == 1


def test_the_newest_comes_first(redis: Redis, start_worker: StartProcess, tmp_path: Path) -> None:
    start_worker(DENPEX_DATA=str(tmp_path))
    for recipient in ("first@example.org", "second@example.org"):
        post(recipient)
        wait_until_sent()

    lines = denpex_mail(tmp_path).stdout.splitlines()

    assert ["second@example.org" in lines[0], "first@example.org" in lines[1]] == [True, True]


def test_no_mail_yet_says_so(tmp_path: Path) -> None:
    assert denpex_mail(tmp_path).stdout == "No mail yet.\n"
    missing = denpex_mail(tmp_path, "3")
    assert missing.returncode == 2
    assert missing.stderr == "denpex: there is no mail 3; there are 0\n"
