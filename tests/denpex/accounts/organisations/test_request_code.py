from __future__ import annotations

import datetime as dt
import re

import pytest
from django.test import Client

from denpex.accounts.models import User
from denpex.accounts.organisations.models import EvaluationRequest, Organisation
from denpex.mail.models import WaitingMail
from tests.conftest import MakeAccount
from tests.denpex.accounts.conftest import link_in, log_in
from tests.denpex.accounts.organisations.conftest import (
    PURPOSE,
    TYPED,
    WORK,
    MakeMember,
    ask,
    mail_to,
    steps,
)
from tests.denpex.test_pages import Outline

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

PATH = "/account/evaluation/request/"


def test_it_works(as_alice: Client, alice: User) -> None:
    page = ask(as_alice).content.decode()

    assert page.count(f"A link is on its way to {WORK}.") == 1
    assert (
        '<a class="button button--quiet" href="/account/evaluation/request/">Ask again</a>' in page
    )
    asked = EvaluationRequest.objects.get()
    assert [asked.account, asked.state, asked.is_suspected] == [alice, "link_sent", False]
    assert [asked.organisation_name, asked.purpose] == ["The Lab", PURPOSE]
    mail = WaitingMail.objects.get()
    assert mail.recipient == WORK
    assert "to evaluate it at lab.example" in mail.text
    assert link_in(mail.text).startswith("/account/evaluation/verify/")
    assert steps() == ["requested"]


def test_link_is_kept_as_a_digest_alone(as_alice: Client) -> None:
    ask(as_alice)
    secret = link_in(mail_to(WORK)).split("/")[-2]

    kept = EvaluationRequest.objects.values().get()
    assert len(secret) == 22
    assert not [value for value in kept.values() if secret in str(value)]


def test_free_mail_is_told_to_use_an_address_at_work(as_alice: Client) -> None:
    page = ask(as_alice, address="alice@gmail.com").content.decode()

    assert "Everybody can have an address at gmail.com" in page
    assert 'value="alice@gmail.com"' in page
    assert PURPOSE in page
    assert 'value="The Lab"' in page
    assert not EvaluationRequest.objects.exists()
    assert not WaitingMail.objects.exists()


def test_throw_away_mail_is_taken_and_marked_for_staff(as_alice: Client) -> None:
    page = ask(as_alice, address="alice@mailinator.com").content.decode()

    assert "A link is on its way to alice@mailinator.com." in page
    assert EvaluationRequest.objects.get().is_suspected


def test_answer_is_the_same_whoever_the_address_belongs_to(
    make_account: MakeAccount, make_member: MakeMember
) -> None:
    """Neither a member's address, nor an account's, nor a known domain can be told from none."""
    make_account("owner@work.example", verified=True)
    make_member("bob")
    told = set()
    for number, address in enumerate(
        ("bob@lab.example", "owner@work.example", "new@lab.example", "new@unknown.example")
    ):
        browser = Client()
        browser.force_login(make_account(f"asks{number}@example.org"))
        page = ask(browser, address=address).content.decode().replace(address, "<address>")
        page = re.sub(r"works until [^.]+ UTC", "works until <then>", page)
        told.add("\n".join(line for line in page.splitlines() if "csrfmiddleware" not in line))

    assert len(told) == 1


def test_double_click_sends_one_mail(as_alice: Client) -> None:
    ask(as_alice)
    ask(as_alice)

    assert EvaluationRequest.objects.count() == 1
    assert WaitingMail.objects.count() == 1


def test_an_address_gets_three_links_a_day_and_what_was_typed_stays(
    make_account: MakeAccount,
) -> None:
    answers = []
    for number in range(4):
        browser = Client()
        browser.force_login(make_account(f"asks{number}@example.org"))
        answers.append(ask(browser))

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    page = answers[-1].content.decode()
    assert "as many requests as one day allows" in page
    assert PURPOSE in page
    assert WaitingMail.objects.count() == 3


def test_an_account_sends_six_requests_a_day(as_alice: Client) -> None:
    answers = [ask(as_alice, address=f"alice@work{n}.example") for n in range(7)]

    assert [answer.status_code for answer in answers] == [200] * 6 + [429]


def test_what_was_typed_comes_back_after_logging_in(client: Client, alice: User) -> None:
    typed = TYPED | {"purpose": "Äußerst große Läufe 🚀 " * 20}
    answer = client.post(PATH, typed)

    assert answer["Location"] == f"/account/login/?next={PATH}"
    assert not EvaluationRequest.objects.exists()
    log_in(client)
    page = client.get(PATH).content.decode()
    assert f'value="{WORK}"' in page
    assert "Äußerst große Läufe 🚀" in page

    client.post(PATH, typed)
    assert EvaluationRequest.objects.get().purpose == typed["purpose"].strip()
    assert client.cookies["denpex_draft"].value == ""


def test_draft_of_another_site_is_not_taken(client: Client, alice: User) -> None:
    client.force_login(alice)
    client.cookies["denpex_draft"] = "eyJhZGRyZXNzIjoiYUBiLmMifQ:forged"

    assert client.get(PATH).status_code == 200


def test_longest_text_fits_into_the_draft(client: Client) -> None:
    longest = {"address": f"a@{'b' * 60}.example", "organisation_name": "ö" * 100}
    longest["purpose"] = "".join(chr(0x1F300 + n % 700) for n in range(500))
    answer = client.post(PATH, longest)

    assert len(answer.cookies["denpex_draft"].OutputString()) < 4096


@pytest.mark.parametrize("field", ["address", "organisation_name", "purpose"])
def test_each_field_is_asked_for(as_alice: Client, field: str) -> None:
    page = ask(as_alice, **{field: ""}).content.decode()

    assert f'id="id_{field}_error"' in page
    assert not EvaluationRequest.objects.exists()


def test_page_is_sound(as_alice: Client) -> None:
    page = as_alice.get(PATH)
    outline = Outline(page.content.decode())

    assert len(list(outline.all("h1"))) == 1
    assert not outline.misnested
    labelled = {label.get("for") for label in outline.all("label")}
    fields = outline.all("input", "textarea")
    assert {each.get("id") for each in fields if each.get("type") != "hidden"} <= labelled
    assert page["Cache-Control"] == "private, no-store"


def test_page_of_the_evaluation_is_there_for_everyone(client: Client, lab: Organisation) -> None:
    page = client.get("/account/evaluation/").content.decode()

    assert "14 days on the Scale plan: 50 diagnoses a day" in page
    assert "logs of up to 50 MB, and verdicts kept for 90 days." in page
    assert "/account/signup/?next=/account/evaluation/request/" in page
    assert "Redeem a code" not in page
    assert not Outline(page).misnested


def test_old_request_no_longer_stands_on_the_page(as_alice: Client) -> None:
    ask(as_alice)
    page = "/account/evaluation/"
    assert f"on its way to {WORK}. Open it" in as_alice.get(page).content.decode()

    EvaluationRequest.objects.update(
        link_expires_at=EvaluationRequest.objects.get().made_at - dt.timedelta(days=1)
    )
    assert WORK not in as_alice.get(page).content.decode()
