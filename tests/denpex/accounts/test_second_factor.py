from __future__ import annotations

import re
import time

import pytest
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.test import Client

from denpex.accounts.models import User
from denpex.mail.models import WaitingMail
from tests.conftest import MakeAccount
from tests.denpex.accounts.conftest import confirm_password, log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


# No code looks like this, so that no luck makes it right.
WRONG_CODE = "abcdef"


@pytest.fixture(autouse=True)
def _slow_clocks(settings) -> None:
    """Take a code for an hour, so that no test depends on how fast it runs."""
    settings.MFA_TOTP_TOLERANCE = 120


def code_of(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def set_up(client: Client) -> str:
    """Set up an app and return its secret."""
    page = client.get("/account/2fa/totp/activate/").content.decode()
    found = re.search(r"Secret: <code>((?:\w{4} )+\w{1,4})</code>", page)
    assert found is not None
    secret = found[1].replace(" ", "")
    assert '<a href="otpauth://totp/' in page
    answer = client.post("/account/2fa/totp/activate/", {"code": code_of(secret)})
    assert answer.status_code == 302
    return secret


@pytest.fixture
def logged_in(client: Client, make_account: MakeAccount) -> Client:
    make_account(verified=True)
    log_in(client)
    confirm_password(client)
    return client


def test_setting_up_shows_a_square_and_gives_recovery_codes(
    logged_in: Client, django_capture_on_commit_callbacks
) -> None:
    page = logged_in.get("/account/2fa/totp/activate/").content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        set_up(logged_in)
    codes = logged_in.get("/account/2fa/recovery-codes/").content.decode()

    assert "<svg" in page
    assert "<?xml" not in page
    assert "data:" not in page
    assert len(re.findall(r"^(?:<pre.*<code>)?\d{8}$", codes, re.MULTILINE)) == 10
    subjects = set(WaitingMail.objects.values_list("subject", flat=True))
    assert "Your account at Denpex asks for a second factor" in subjects


def test_password_alone_does_not_log_in(logged_in: Client) -> None:
    secret = set_up(logged_in)
    browser = Client()
    answer = log_in(browser)

    assert answer["Location"] == "/account/2fa/authenticate/"
    assert browser.get("/account/").status_code == 302
    assert browser.post("/account/2fa/authenticate/", {"code": WRONG_CODE}).status_code == 200
    assert browser.get("/account/").status_code == 302

    Authenticator.objects.update(last_used_at=None)
    from django.core.cache import cache

    cache.clear()
    browser.post("/account/2fa/authenticate/", {"code": code_of(secret)})
    assert browser.get("/account/").status_code == 200


def test_unused_recovery_codes_are_to_be_saved(logged_in: Client) -> None:
    set_up(logged_in)
    page = logged_in.get("/account/2fa/").text
    assert "All 10 are left: save them" in page
    assert '<a class="button" href="/account/2fa/recovery-codes/">Show them</a>' in page

    wrapped = Authenticator.objects.get(type="recovery_codes").wrap()
    assert wrapped.validate_code(wrapped.get_unused_codes()[0])
    assert "9 of 10 are left." in logged_in.get("/account/2fa/").text


def test_recovery_code_logs_in_once(logged_in: Client) -> None:
    set_up(logged_in)
    wrapped = Authenticator.objects.get(type="recovery_codes").wrap()
    code = wrapped.get_unused_codes()[0]

    statuses = []
    for _ in range(2):
        browser = Client()
        log_in(browser)
        browser.post("/account/2fa/authenticate/", {"code": code})
        statuses.append(browser.get("/account/").status_code)

    assert statuses == [200, 302]


def test_secrets_are_stored_encrypted(logged_in: Client) -> None:
    secret = set_up(logged_in)

    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored
    assert get_adapter().decrypt(Authenticator.objects.get(type="totp").data["secret"]) == secret


def test_removing_it_asks_for_password_or_code_again(logged_in: Client) -> None:
    set_up(logged_in)
    session = logged_in.session
    session["account_authentication_methods"] = []
    session.save()

    answer = logged_in.post("/account/2fa/totp/deactivate/")

    assert "reauthenticate" in answer["Location"]
    assert Authenticator.objects.filter(type="totp").exists()


def test_an_unverified_account_cannot_set_one_up(client: Client, alice: User) -> None:
    """Else who took somebody's address could lock the owner out."""
    log_in(client)
    confirm_password(client)

    answer = client.post("/account/2fa/totp/activate/", {"code": WRONG_CODE}, follow=True)

    assert answer.redirect_chain or "until you have verified" in answer.content.decode()
    assert not Authenticator.objects.exists()


def test_a_secret_of_another_key_lets_nobody_in(logged_in: Client, settings) -> None:
    """Who changed the site's key finds a login that refuses, and no error page."""
    secret = set_up(logged_in)
    settings.SECRET_KEY = "changed " * 8
    browser = Client()
    log_in(browser)

    answer = browser.post("/account/2fa/authenticate/", {"code": code_of(secret)})

    assert answer.status_code == 200
    assert "Incorrect code." in answer.content.decode()
