"""People with accounts: Alice, and whoever else a test needs."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tests.conftest import PASSWORD, MakeAccount

if TYPE_CHECKING:
    from denpex.accounts.models import User

_LINK = re.compile(r"https?://[^/\s]+(/\S+)")


@pytest.fixture(autouse=True)
def _one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all that a test does happen within the minute that a limit counts, however slow it is."""
    from allauth.core.internal import ratelimit

    now = time.time()
    stopped = SimpleNamespace(time=lambda: now, monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(ratelimit, "time", stopped)


@pytest.fixture
def alice(make_account: MakeAccount) -> User:
    return make_account()


@pytest.fixture
def as_alice(client: Client, alice: User, redis: object) -> Client:
    client.force_login(alice)
    return client


def sign_up(client: Client, email: str = "alice@example.org", password: str = PASSWORD):
    return client.post("/account/signup/", {"email": email, "password1": password})


def log_in(client: Client, email: str = "alice@example.org", password: str = PASSWORD):
    return client.post("/account/login/", {"login": email, "password": password})


def confirm_password(client: Client):
    """Type the password once more, as changes of what logs in ask for."""
    return client.post("/account/reauthenticate/", {"password": PASSWORD})


def link_in(text: str) -> str:
    """Return the path of the first link in a mail."""
    found = _LINK.search(text)
    assert found is not None
    return found[1]
