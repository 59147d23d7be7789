"""What the account's own page shows of organisation, code and evaluation."""

from __future__ import annotations

import pytest
from django.test import Client

from denpex.accounts.models import User
from denpex.accounts.organisations import codes
from denpex.accounts.organisations.models import EvaluationRequest, Organisation
from tests.denpex.accounts.organisations.conftest import (
    WORK,
    MakeMember,
    ask,
    browser_of,
    mint,
    requested,
)
from tests.denpex.test_pages import Outline

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def overview_of(account: User) -> str:
    page = browser_of(account).get("/account/").content.decode()
    assert not Outline(page).misnested
    return page


def test_it_leads_to_the_evaluation(alice: User) -> None:
    page = overview_of(alice)

    assert 'href="/account/evaluation/"' in page
    assert "Your organisations" not in page


def test_request_on_its_way_is_shown(as_alice: Client, alice: User) -> None:
    ask(as_alice)

    assert f"A link is on its way to {WORK}. Open it" in overview_of(alice)


def test_request_in_review_is_shown(alice: User) -> None:
    requested(alice, WORK)
    EvaluationRequest.objects.update(state="in_review")

    assert f"{WORK} is proved; a person looks at your request" in overview_of(alice)


def test_own_code_and_that_of_a_colleague_are_shown(
    make_member: MakeMember, lab: Organisation
) -> None:
    bob, carol = make_member("bob"), make_member("carol")
    assert "none yet" in overview_of(bob)
    mint(lab, "bob@lab.example", request=requested(bob, "bob@lab.example"))

    assert "your code works until" in overview_of(bob)
    assert "a colleague&#x27;s code works until" in overview_of(carol).replace("'", "&#x27;")
    assert "bob@" not in overview_of(carol)


def test_running_evaluation_is_shown_with_its_end(
    make_member: MakeMember, lab: Organisation
) -> None:
    bob, carol = make_member("bob"), make_member("carol")
    grant = codes.redeem(bob, mint(lab, "bob@lab.example"))
    end = f"{grant.ends_at.day} {grant.ends_at:%B %Y, %H:%M} UTC"

    page = overview_of(bob)
    assert "Your evaluation runs until" in page
    assert end in page
    assert "by you" in page
    assert "Your evaluation runs" not in overview_of(carol)
    assert "begun" in overview_of(carol)
