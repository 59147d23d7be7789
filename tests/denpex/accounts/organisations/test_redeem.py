from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import codes
from denpex.accounts.organisations.models import AuditEntry, EvaluationCode, Organisation
from denpex.accounts.standing import tier_of
from tests.conftest import MakeAccount
from tests.denpex.accounts.conftest import log_in
from tests.denpex.accounts.organisations.conftest import (
    MakeMember,
    browser_of,
    mint,
    minted,
    redeem,
    steps,
)
from tests.denpex.test_pages import Outline

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def bob(make_member: MakeMember) -> User:
    return make_member("bob")


@pytest.fixture
def code(lab: Organisation) -> str:
    return mint(lab, "bob@lab.example")


def refused(client: Client, code: str) -> str:
    """Redeem a code that starts nothing, and return the answer; what was typed must stay."""
    answer = redeem(client, code)
    page = answer.content.decode()
    assert answer.status_code == 409
    assert f'value="{code}"' in page
    assert not Outline(page).misnested
    return page


def test_it_works(bob: User, code: str) -> None:
    page = redeem(browser_of(bob), code).content.decode()

    assert "The evaluation has begun: 50 diagnoses a day until" in page
    assert tier_of(bob).key == "evaluation"
    assert tier_of(bob).diagnoses_a_day == 50
    grant = bob.grants.get(tier="evaluation")
    assert grant.ends_at == grant.begins_at + dt.timedelta(days=14)
    redeemed = minted(code)
    assert [redeemed.state, redeemed.redeemed_by, redeemed.grant] == ["redeemed", bob, grant]
    assert steps()[-1] == "redeemed"


def test_code_is_kept_as_a_digest_alone(code: str) -> None:
    kept = EvaluationCode.objects.values().get()

    plain = code.replace("-", "")
    assert not [value for value in kept.values() if plain in str(value) or code in str(value)]


def test_evaluation_ends_by_itself_and_nothing_renews_it(bob: User, code: str) -> None:
    codes.redeem(bob, code)
    Grant.objects.filter(tier="evaluation").update(
        begins_at=timezone.now() - dt.timedelta(days=14), ends_at=timezone.now()
    )

    assert tier_of(bob).key == "organisation"
    assert Grant.objects.filter(tier="evaluation").count() == 1
    assert "You have redeemed this code already" in refused(browser_of(bob), code)
    assert tier_of(bob).key == "organisation"


def test_code_may_be_typed_in_lower_case_and_without_groups(bob: User, code: str) -> None:
    redeem(browser_of(bob), f" {code.lower().replace('-', ' ')} ")

    assert tier_of(bob).key == "evaluation"


def test_replay_says_since_when_and_until_when(bob: User, code: str) -> None:
    codes.redeem(bob, code)
    page = refused(browser_of(bob), code)

    assert "You have redeemed this code already on" in page
    assert "Your evaluation runs until" in page
    assert bob.grants.filter(tier="evaluation").count() == 1


def test_code_of_a_colleague_that_was_used_says_so(
    bob: User, code: str, make_member: MakeMember
) -> None:
    codes.redeem(bob, code)
    carol = make_member("carol")
    page = refused(browser_of(carol), code)

    assert "by another account of lab.example" in page
    assert "bob" not in page
    assert tier_of(carol).key == "organisation"


def test_expired_code_says_when(bob: User, code: str) -> None:
    EvaluationCode.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    page = refused(browser_of(bob), code)

    assert "This code could be redeemed until" in page
    assert "Request a new one" in page
    assert tier_of(bob).key == "organisation"


def test_code_that_was_marked_expired_says_the_same(bob: User, code: str) -> None:
    EvaluationCode.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    codes.lapse()

    assert EvaluationCode.objects.get().state == "expired"
    assert "This code could be redeemed until" in refused(browser_of(bob), code)


def test_revoked_code_says_so(bob: User, code: str, make_account: MakeAccount) -> None:
    assert codes.revoke(minted(code), make_account("staff@example.net"))

    assert "This code was withdrawn on" in refused(browser_of(bob), code)
    assert tier_of(bob).key == "organisation"


def test_code_of_a_foreign_domain_says_what_to_do(alice: User, code: str) -> None:
    browser = browser_of(alice)
    page = refused(browser, code)

    assert "This code belongs to lab.example, and your account does not." in page
    assert "Join lab.example first" in page
    assert minted(code).state == "live"


def test_foreign_account_learns_nothing_more_of_a_used_code(
    alice: User, bob: User, code: str
) -> None:
    fresh = refused(browser_of(alice), code)
    codes.redeem(bob, code)
    used = refused(browser_of(alice), code)

    assert without_tokens(fresh) == without_tokens(used)


def without_tokens(page: str) -> list[str]:
    return [line for line in page.splitlines() if "csrfmiddlewaretoken" not in line]


def test_organisation_that_had_its_evaluation_gets_no_second(
    bob: User, lab: Organisation, code: str, make_member: MakeMember
) -> None:
    """Minting refuses already; a code that came to be all the same starts nothing."""
    codes.redeem(bob, code)
    carol = make_member("carol")
    page = refused(browser_of(carol), mint(lab, "carol@lab.example"))

    assert "lab.example had its evaluation, from" in page
    assert "An organisation gets one." in page
    assert tier_of(carol).key == "organisation"


def test_staff_may_give_a_further_evaluation(
    bob: User, lab: Organisation, code: str, make_account: MakeAccount
) -> None:
    codes.redeem(bob, code)
    staff = make_account("staff@example.net")
    further = mint(lab, "bob@lab.example", staff=staff, is_further=True)

    codes.redeem(bob, further)
    assert bob.grants.filter(tier="evaluation").count() == 2


@pytest.mark.parametrize("typed", ["no such code", "AAAA-" * 6 + "AAAA", "ß" * 20])
def test_unknown_code_says_so(as_alice: Client, typed: str) -> None:
    answer = redeem(as_alice, typed)

    assert answer.status_code == 409
    page = answer.content.decode()
    assert "We know no such code." in page
    assert 'aria-invalid="true"' in page
    assert page.count("28 letters and digits") == 1


def test_refusals_are_written_down(alice: User, bob: User, code: str) -> None:
    redeem(browser_of(alice), "no such code")
    redeem(browser_of(alice), code)
    codes.redeem(bob, code)
    redeem(browser_of(bob), code)

    refusals = AuditEntry.objects.filter(event="refused").order_by("pk")
    assert list(refusals.values_list("detail", "account")) == [
        ("unknown", alice.pk),
        ("foreign", alice.pk),
        ("replayed", bob.pk),
    ]


def test_guessing_is_limited_and_what_was_typed_stays(bob: User, code: str) -> None:
    browser = browser_of(bob)
    answers = [redeem(browser, f"guess {number}") for number in range(10)]
    late = redeem(browser, code)

    assert {answer.status_code for answer in answers} == {409}
    assert late.status_code == 429
    assert "as many codes as one hour allows" in late.content.decode()
    assert f'value="{code}"' in late.content.decode()
    assert minted(code).state == "live"


def test_empty_code_is_asked_for(as_alice: Client) -> None:
    page = redeem(as_alice, "").content.decode()

    assert 'id="id_code_error"' in page


def test_code_that_was_typed_comes_back_after_logging_in(
    client: Client, alice: User, code: str
) -> None:
    path = "/account/evaluation/redeem/"
    answer = client.post(path, {"code": code})

    assert answer["Location"] == f"/account/login/?next={path}"
    log_in(client)
    assert f'value="{code}"' in client.get(path).content.decode()


def test_reading_the_page_redeems_nothing(bob: User, code: str) -> None:
    browser_of(bob).get(f"/account/evaluation/redeem/?code={code}")

    assert minted(code).state == "live"


def test_form_of_another_site_redeems_nothing(bob: User, code: str) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(bob)

    assert redeem(browser, code).status_code == 403
    assert minted(code).state == "live"
