"""Alice and Bob, what they diagnosed, and a catalogue that knows less than today's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from tests.conftest import MakeAccount
from tests.diagnosis.conftest import case_log

if TYPE_CHECKING:
    from denpex.accounts.models import User
    from diagnosis.engine import Compiled

Diagnosed = Callable[..., Any]

# Knows three failures of storage and communication, and nothing of memory.
SMALL_CATALOGUE = Path(__file__).parents[2] / "encyclopedia" / "failures"

DISK_FULL = case_log("lab-disk-full-rank0-torchrun4")
OUT_OF_MEMORY = (
    b"[rank2]: Traceback (most recent call last):\n"
    b'[rank2]:   File "/srv/train.py", line 12, in <module>\n'
    b"[rank2]:     loss = model(batch)\n"
    b"[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a"
    b" total capacity of 79.15 GiB of which 1.06 GiB is free.\n"
)
ODD = (
    b"[rank1]: Traceback (most recent call last):\n"
    b'[rank1]:   File "/srv/train.py", line 3, in <module>\n'
    b"[rank1]:     quokka()\n"
    b"[rank1]: quokka.QuokkaError: the quokka is asleep\n"
)


def numbered(log: bytes, number: int) -> bytes:
    """Return a log that differs from all others, and dies alike."""
    return log + f"epoch {number} was the last\n".encode()


@pytest.fixture
def alice(make_account: MakeAccount) -> User:
    return _with_room(make_account("alice@example.org", verified=True))


@pytest.fixture
def bob(make_account: MakeAccount) -> User:
    return _with_room(make_account("bob@example.org", verified=True))


@pytest.fixture
def as_alice(alice: User, redis: object) -> Client:
    return browser_of(alice)


@pytest.fixture
def as_bob(bob: User, redis: object) -> Client:
    return browser_of(bob)


def browser_of(account: User) -> Client:
    browser = Client()
    browser.force_login(account)
    return browser


def _with_room(account: User) -> User:
    from denpex.accounts.models import Grant

    Grant.objects.create(account=account, tier="scale", why="a test")
    return account


@pytest.fixture(scope="session")
def small_catalogue(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    from diagnosis.engine import load_compiled

    return load_compiled(SMALL_CATALOGUE, tmp_path_factory.mktemp("cache"))


@pytest.fixture
def diagnosed(db: None, redis: object) -> Diagnosed:
    """Diagnose as a worker does: `diagnosed(account, log, compiled, **columns)` -> the entry."""
    from denpex.accounts.standing import tier_of
    from diagnosis import jobs, store
    from diagnosis.engine import diagnose
    from diagnosis.history.models import HistoryEntry
    from diagnosis.paste import Upload
    from diagnosis.preloaded import compiled
    from diagnosis.senders import Sender
    from diagnosis.submission import Submission, submit
    from diagnosis.visitors import Visitor

    def make(
        account: User, log: bytes = DISK_FULL, catalogue: Compiled | None = None, **columns: object
    ) -> HistoryEntry:
        sender = Sender(tier_of(account), Visitor("203.0.113.9", None), account)
        job = submit(Submission("", (Upload("run.log", log),)), sender)
        assert jobs.take_lease(job.pk, "the test")
        logs = store.read_log(job.pk)
        assert logs is not None
        verdict = diagnose(logs, catalogue or compiled()).as_json()
        assert jobs.finish(job.pk, "the test", verdict)
        HistoryEntry.objects.filter(pk=job.pk).update(**columns)
        return HistoryEntry.objects.get(pk=job.pk)

    return make
