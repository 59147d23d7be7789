from __future__ import annotations

import pytest
from django.test import Client

from denpex.accounts.models import User
from denpex.mail.models import WaitingMail
from tests.conftest import PASSWORD, MakeAccount
from tests.denpex.accounts.conftest import link_in, log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

NEW = "eleven blue lanterns"


def ask_for_link(client: Client, email: str = "alice@example.org"):
    return client.post("/account/password/reset/", {"email": email}, follow=True)


def test_link_sets_a_new_password(client: Client, alice: User) -> None:
    ask_for_link(client)
    mail = WaitingMail.objects.get()
    page = client.get(link_in(mail.text), follow=True)

    done = client.post(page.request["PATH_INFO"], {"password1": NEW, "password2": NEW}, follow=True)

    assert mail.subject == "Set a new password at Denpex"
    assert "Your new password is set" in done.content.decode()
    assert log_in(Client(), password=NEW).status_code == 302
    assert log_in(Client(), password=PASSWORD).status_code == 200


def test_link_works_once(client: Client, alice: User) -> None:
    ask_for_link(client)
    link = link_in(WaitingMail.objects.get().text)
    page = client.get(link, follow=True)
    client.post(page.request["PATH_INFO"], {"password1": NEW, "password2": NEW})

    assert "This link no longer works" in Client().get(link, follow=True).content.decode()


def test_asking_answers_the_same_for_an_unknown_address(alice: User) -> None:
    known = ask_for_link(Client())
    unknown = ask_for_link(Client(), "nobody@example.org")

    assert known.content == unknown.content
    assert known.redirect_chain == unknown.redirect_chain
    subjects = set(WaitingMail.objects.values_list("recipient", "subject"))
    assert ("nobody@example.org", "No account at Denpex has this address") in subjects


def test_an_address_gets_three_mails_an_hour(client: Client, alice: User) -> None:
    answers = [ask_for_link(Client()).status_code for _ in range(4)]

    assert answers == [200, 200, 200, 429]
    assert WaitingMail.objects.count() == 3


def test_changing_it_logs_other_browsers_out_and_tells_the_owner(
    client: Client, alice: User
) -> None:
    other = Client()
    log_in(other)
    log_in(client)

    client.post(
        "/account/password/change/",
        {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW},
    )

    assert client.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert WaitingMail.objects.get().subject == "Your password at Denpex is new"


def test_changing_it_needs_the_old_one(as_alice: Client) -> None:
    page = as_alice.post(
        "/account/password/change/",
        {"oldpassword": "not hers at all", "password1": NEW, "password2": NEW},
    )

    assert "Please type your current password" in page.content.decode()


def test_passwords_are_hashed_with_argon2(client: Client, make_account: MakeAccount) -> None:
    from tests.denpex.accounts.conftest import sign_up

    sign_up(client)

    assert User.objects.get().password.startswith("argon2$argon2id$")
