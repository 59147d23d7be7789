from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from redis import Redis

from denpex.accounts.login import AddressBackend
from denpex.accounts.models import User
from tests.conftest import PASSWORD, MakeAccount
from tests.denpex.accounts.conftest import log_in, sign_up

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

WRONG = "The email address and/or password you specified are not correct."


def test_it_works(client: Client, alice: User) -> None:
    response = log_in(client)

    assert response.status_code == 302
    assert response["Location"] == "/account/"
    assert client.get("/account/").status_code == 200


def test_an_account_logs_in_before_its_address_is_verified(client: Client) -> None:
    sign_up(client)
    client.post("/account/logout/")

    assert log_in(client).status_code == 302


@pytest.mark.parametrize(
    ("email", "password"),
    [("alice@example.org", "not hers at all"), ("nobody@example.org", PASSWORD)],
)
def test_a_wrong_login_does_not_say_what_was_wrong(
    client: Client, alice: User, email: str, password: str
) -> None:
    response = log_in(client, email, password)

    assert WRONG in response.content.decode()
    assert not client.session.get("_auth_user_id")


def test_a_closed_account_cannot_log_in(client: Client, make_account: MakeAccount) -> None:
    make_account(is_active=False)

    assert WRONG in log_in(client).content.decode()


def test_the_account_that_verified_the_address_comes_first(make_account: MakeAccount) -> None:
    make_account("shared@example.org")
    verified = make_account("shared@example.org", verified=True)

    found = AddressBackend().authenticate(None, email="shared@example.org", password=PASSWORD)

    assert found == verified


@pytest.mark.parametrize("accounts", [0, 1, 2, 3])
def test_as_many_passwords_are_hashed_whoever_has_an_account(
    make_account: MakeAccount, monkeypatch: pytest.MonkeyPatch, accounts: int
) -> None:
    """Else the time of an answer would tell."""
    from django.contrib.auth.hashers import Argon2PasswordHasher

    for _ in range(accounts):
        make_account("shared@example.org")
    hashed = []
    for name in ("encode", "verify"):
        original = getattr(Argon2PasswordHasher, name)

        def count(self, *args, _original=original, **kwargs):
            hashed.append(1)
            return _original(self, *args, **kwargs)

        monkeypatch.setattr(Argon2PasswordHasher, name, count)

    AddressBackend().authenticate(None, email="shared@example.org", password="not the one")

    assert len(hashed) == 2


def test_five_wrong_passwords_close_the_account_for_a_while(client: Client, alice: User) -> None:
    for _ in range(5):
        log_in(client, password="not hers at all")

    response = log_in(Client(REMOTE_ADDR="198.51.100.3"))

    assert "Too many failed login attempts" in response.content.decode()


def test_ten_wrong_logins_close_the_address_for_a_while(make_account: MakeAccount) -> None:
    make_account("bob@example.org")
    for number in range(10):
        log_in(Client(), f"guess{number}@example.org")

    response = log_in(Client(), "bob@example.org")
    elsewhere = log_in(Client(REMOTE_ADDR="198.51.100.3"), "bob@example.org")

    assert "Too many failed login attempts" in response.content.decode()
    assert elsewhere.status_code == 302


def test_limits_keep_no_address_in_the_clear(redis: Redis, client: Client) -> None:
    sign_up(Client(REMOTE_ADDR="203.0.113.77"))
    browser = Client(REMOTE_ADDR="203.0.113.77")
    log_in(browser, "nobody@example.org")
    browser.post("/account/password/reset/", {"email": "nobody@example.org"})

    kept = [key.decode() for key in redis.keys("*")]
    assert [key for key in kept if "login_failed" in key]
    assert not [key for key in kept if "203.0.113.77" in key or "@" in key]


def test_no_table_holds_the_address_of_a_visitor(client: Client) -> None:
    from django.apps import apps

    browser = Client(REMOTE_ADDR="203.0.113.77")
    sign_up(browser)
    log_in(browser)

    rows = [str(row) for model in apps.get_models() for row in model._default_manager.values()]
    sessions = [json.dumps(dict(browser.session.items()), default=str)]
    assert "alice@example.org" in " ".join(rows)
    assert "203.0.113.77" not in " ".join(rows + sessions)


def test_cookies_are_strict(settings, alice: User) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    browser = Client()
    browser.get("/account/login/")
    log_in(browser)

    for name in ("sessionid", "csrftoken"):
        cookie = browser.cookies[name]
        assert cookie["httponly"], name
        assert cookie["secure"], name
        assert cookie["samesite"] == "Lax", name


def test_reading_a_page_makes_no_session(client: Client) -> None:
    for path in ("/account/login/", "/account/signup/", "/diagnose/", "/"):
        assert "sessionid" not in client.get(path).cookies


def test_login_needs_a_token(alice: User) -> None:
    browser = Client(enforce_csrf_checks=True)

    assert log_in(browser).status_code == 403


def test_login_gives_a_new_session(client: Client, alice: User) -> None:
    """Who planted a session id in this browser must not share the login."""
    client.get("/account/login/")
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key
    client.cookies.load({"sessionid": before or ""})

    log_in(client)

    assert client.cookies["sessionid"].value != before


@pytest.mark.parametrize("target", ["https://elsewhere.example/", "//elsewhere.example/"])
def test_login_leads_to_no_other_site(client: Client, alice: User, target: str) -> None:
    response = client.post(
        "/account/login/", {"login": "alice@example.org", "password": PASSWORD, "next": target}
    )

    assert response["Location"] == "/account/"


def test_logging_out_asks_first(as_alice: Client) -> None:
    assert as_alice.get("/account/logout/").status_code == 200
    assert as_alice.get("/account/").status_code == 200

    as_alice.post("/account/logout/")

    assert as_alice.get("/account/")["Location"].startswith("/account/login/")


def test_large_forms_are_refused_before_they_are_read(client: Client) -> None:
    response = client.post("/account/login/", {"login": "a" * 200_000, "password": PASSWORD})

    assert response.status_code == 413


def test_neither_password_nor_address_is_logged(
    client: Client, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="denpex")
    sign_up(Client(), "carol@example.org")
    log_in(client, password="not hers at all")
    log_in(client)

    said = caplog.text + " ".join(str(vars(record)) for record in caplog.records)
    assert not re.search(r"alice@|carol@|anvils|not hers", said)
