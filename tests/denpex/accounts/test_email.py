from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from denpex.accounts.models import User
from denpex.mail.models import WaitingMail
from tests.conftest import MakeAccount
from tests.denpex.accounts.conftest import confirm_password, log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def logged_in(client: Client, alice: User) -> Client:
    log_in(client)
    confirm_password(client)
    return client


def change(client: Client, action: str, email: str) -> str:
    page = client.post("/account/email/", {f"action_{action}": "", "email": email}, follow=True)
    return page.content.decode()


def test_it_works(logged_in: Client) -> None:
    page = logged_in.get("/account/email/").content.decode()

    assert "alice@example.org" in page
    assert "not verified, primary" in page
    assert "Send the link again" in page
    assert "Remove" not in page


def test_the_primary_address_cannot_be_removed_and_says_so(alice: User, logged_in: Client) -> None:
    EmailAddress.objects.filter(user=alice).update(verified=True)

    assert '<td data-label="Change">cannot be removed</td>' in logged_in.get("/account/email/").text


def test_added_address_gets_a_link(logged_in: Client) -> None:
    change(logged_in, "add", "alice@work.example")

    assert WaitingMail.objects.get().recipient == "alice@work.example"
    assert "Remove" in logged_in.get("/account/email/").content.decode()


def test_address_of_another_account_can_be_added_and_tells_nothing(
    logged_in: Client, make_account: MakeAccount
) -> None:
    make_account("taken@example.org", verified=True)
    told = [change(logged_in, "add", email) for email in ("taken@example.org", "free@example.org")]

    assert ["is on its way to" in page for page in told] == [True, True]
    mail = WaitingMail.objects.get(recipient="taken@example.org")
    assert mail.subject == "You have an account at Denpex already"


def test_an_account_has_three_at_most(logged_in: Client) -> None:
    for number in range(2):
        change(logged_in, "add", f"alice{number}@example.org")

    assert "Add an address" not in logged_in.get("/account/email/").content.decode()
    change(logged_in, "add", "one.too.many@example.org")
    assert EmailAddress.objects.count() == 3


def test_the_only_address_stays(logged_in: Client) -> None:
    page = change(logged_in, "remove", "alice@example.org")

    assert "is the primary address and stays" in page
    assert EmailAddress.objects.count() == 1


def test_addresses_of_others_cannot_be_touched(
    logged_in: Client, make_account: MakeAccount
) -> None:
    make_account("bob@example.org", verified=True)
    for action in ("remove", "primary", "send"):
        change(logged_in, action, "bob@example.org")

    bobs = EmailAddress.objects.get(email="bob@example.org")
    assert bobs.verified
    assert bobs.primary
    assert not WaitingMail.objects.exists()


def test_link_is_sent_again_but_not_at_once(logged_in: Client) -> None:
    change(logged_in, "send", "alice@example.org")
    change(logged_in, "send", "alice@example.org")

    assert WaitingMail.objects.count() == 1


def test_changing_addresses_asks_for_the_password_again(client: Client, alice: User) -> None:
    log_in(client)

    answer = client.post("/account/email/", {"action_add": "", "email": "new@example.org"})

    assert answer.status_code == 302
    assert answer["Location"].startswith("/account/reauthenticate/")
    assert not EmailAddress.objects.filter(email="new@example.org").exists()


def test_old_address_is_told_of_a_new_primary_one(logged_in: Client, alice: User) -> None:
    EmailAddress.objects.create(user=alice, email="alice@work.example", verified=True)

    change(logged_in, "primary", "alice@work.example")

    mail = WaitingMail.objects.get()
    assert mail.recipient == "alice@example.org"
    assert "goes to alice@work.example from now on" in mail.text
    alice.refresh_from_db()
    assert alice.email == "alice@work.example"
