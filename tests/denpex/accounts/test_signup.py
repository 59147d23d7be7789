from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from denpex.accounts.models import User
from denpex.mail.models import WaitingMail
from tests.conftest import MakeAccount
from tests.denpex.accounts.conftest import link_in, log_in, sign_up

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def test_it_works(client: Client) -> None:
    response = sign_up(client)

    assert response.status_code == 302
    assert response["Location"] == "/account/"
    assert "alice@example.org is not verified yet" in client.get("/account/").content.decode()
    mail = WaitingMail.objects.get()
    assert mail.recipient == "alice@example.org"
    assert mail.subject == "Verify your address at Denpex"
    assert "You signed up at Denpex with alice@example.org." in mail.text


def test_page_says_what_an_account_gives(client: Client) -> None:
    page = client.get("/account/signup/")

    assert "5 diagnoses a day once your address is verified" in page.content.decode()
    assert page["Cache-Control"] == "private, no-store"


def test_sign_up_answers_the_same_for_a_taken_address(make_account: MakeAccount) -> None:
    """Neither the answer, nor the page behind it, nor what a later login says, tells of others."""
    make_account("taken@example.org", verified=True)
    told = []
    for email in ("taken@example.org", "fresh@example.org"):
        browser = Client()
        answer = sign_up(browser, email, "another pass phrase")
        page = browser.get("/account/").content.decode().replace(email, "<email>")
        again = log_in(Client(), email, "another pass phrase")
        told.append(
            (answer.status_code, answer["Location"], page_without_token(page), again.status_code)
        )

    assert told[0] == told[1]


def page_without_token(page: str) -> str:
    return "\n".join(line for line in page.splitlines() if "csrfmiddlewaretoken" not in line)


def test_owner_of_a_verified_address_is_told_of_the_account(make_account: MakeAccount) -> None:
    make_account("taken@example.org", verified=True)

    sign_up(Client(), "taken@example.org", "another pass phrase")

    assert WaitingMail.objects.get().subject == "You have an account at Denpex already"


def test_an_account_that_shares_an_address_gets_nothing_of_the_other(
    make_account: MakeAccount,
) -> None:
    owner = make_account("taken@example.org", verified=True)

    sign_up(Client(), "taken@example.org", "another pass phrase")

    other = User.objects.exclude(pk=owner.pk).get()
    assert not EmailAddress.objects.get(user=other).verified
    assert not EmailAddress.objects.get(user=other).can_set_verified()


def test_an_address_gets_three_mails_of_sign_ups_a_day(client: Client) -> None:
    answers = [sign_up(Client(), password=f"pass phrase {n} of many") for n in range(4)]

    assert [answer.status_code for answer in answers] == [302, 302, 302, 200]
    assert "given too often today" in answers[-1].content.decode()
    assert User.objects.count() == 3


def test_weak_password_is_refused_at_its_field(client: Client) -> None:
    page = sign_up(client, password="12345").content.decode()

    assert 'id="id_password1_error"' in page
    assert 'aria-invalid="true"' in page
    assert "id_password1_error" in page[page.index("aria-describedby") :][:120]
    assert not User.objects.exists()


def test_link_verifies_the_address(client: Client) -> None:
    sign_up(client)
    link = link_in(WaitingMail.objects.get().text)

    assert "Is alice@example.org yours?" in client.get(link).content.decode()
    page = client.post(link, follow=True).content.decode()

    assert "alice@example.org is verified." in page
    assert EmailAddress.objects.get().verified


def test_opening_the_link_alone_verifies_nothing(client: Client) -> None:
    """Mail scanners open links."""
    sign_up(client)

    client.get(link_in(WaitingMail.objects.get().text))

    assert not EmailAddress.objects.get().verified


def test_link_asks_a_browser_that_is_not_logged_in_to_log_in(client: Client) -> None:
    sign_up(client)
    link = link_in(WaitingMail.objects.get().text)

    answer = Client().post(link)

    assert answer.status_code == 302
    assert answer["Location"].startswith("/account/login/")
    assert not EmailAddress.objects.get().verified


def test_click_of_another_account_does_not_verify(
    client: Client, make_account: MakeAccount
) -> None:
    """Who signs up with the address of somebody else must not profit from that one's click."""
    sign_up(client, "bob@example.org")
    link = link_in(WaitingMail.objects.get().text)
    browser = Client()
    browser.force_login(make_account("bob.private@example.org"))

    answer = browser.post(link)

    assert answer.status_code == 403
    assert "belongs to another account" in answer.content.decode()
    assert not EmailAddress.objects.get(email="bob@example.org").verified


def test_used_link_says_so(client: Client) -> None:
    sign_up(client)
    link = link_in(WaitingMail.objects.get().text)
    client.post(link)

    assert "This link no longer works" in client.get(link).content.decode()
