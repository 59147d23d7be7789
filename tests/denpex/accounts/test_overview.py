from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.tiers import EVALUATION_PERIOD
from denpex.mail.models import WaitingMail
from tests.denpex.test_pages import Outline

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def test_it_works(as_alice: Client) -> None:
    response = as_alice.get("/account/")
    page = response.content.decode()

    assert "3 of 3 left today, and 3 extra." in page
    assert "Account, e-mail not verified" in page
    assert response["Cache-Control"] == "private, no-store"
    assert not Outline(page).misnested


def test_it_asks_to_log_in_and_leads_back(client: Client) -> None:
    response = client.get("/account/")

    assert response["Location"] == "/account/login/?next=/account/"
    assert response["Cache-Control"] == "private, no-store"


def test_the_link_is_sent_again_from_here(as_alice: Client) -> None:
    as_alice.post("/account/email/", {"action_send": "", "email": "alice@example.org"})

    assert WaitingMail.objects.get().recipient == "alice@example.org"


def test_it_says_what_a_period_allows_and_when_it_ends(as_alice: Client, alice: User) -> None:
    now = timezone.now()
    Grant.objects.create(
        account=alice, tier="evaluation", ends_at=now + EVALUATION_PERIOD, why="a code"
    )

    page = as_alice.get("/account/").content.decode()

    assert "50 a day" in page
    assert "up to 50 MB" in page
    assert "ahead of other plans" in page
    assert "the full fix on every page, history</dd>" in page
    assert f"{now + EVALUATION_PERIOD:%B %Y}" in page


@pytest.mark.parametrize(
    "path",
    ["login/", "signup/", "password/reset/", "password/reset/done/", "confirm-email/"],
)
def test_pages_for_everyone_are_sound(client: Client, path: str) -> None:
    outline = Outline(client.get(f"/account/{path}").content.decode())

    assert len(list(outline.all("h1"))) == 1
    assert not outline.misnested
    assert_fields_are_labelled(outline)


@pytest.mark.parametrize(
    "path",
    ["", "email/", "password/change/", "2fa/", "reauthenticate/", "logout/"],
)
def test_pages_of_an_account_are_sound(as_alice: Client, path: str) -> None:
    outline = Outline(as_alice.get(f"/account/{path}").content.decode())

    assert len(list(outline.all("h1"))) == 1
    assert not outline.misnested
    assert_fields_are_labelled(outline)


def assert_fields_are_labelled(outline: Outline) -> None:
    labelled = {label.get("for") for label in outline.all("label")}
    fields = [field for field in outline.all("input") if field.get("type") != "hidden"]
    assert fields
    assert {field.get("id") for field in fields} <= labelled
