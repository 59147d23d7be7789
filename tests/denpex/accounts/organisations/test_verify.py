from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from denpex.accounts.models import User
from denpex.accounts.organisations import closing, codes, requests
from denpex.accounts.organisations.models import (
    EvaluationCode,
    EvaluationRequest,
    Membership,
    Organisation,
)
from denpex.accounts.standing import tier_of
from denpex.mail.models import WaitingMail
from tests.conftest import MakeAccount
from tests.denpex.accounts.conftest import link_in
from tests.denpex.accounts.organisations.conftest import (
    WORK,
    MakeMember,
    ask,
    browser_of,
    code_in,
    mail_to,
    mint,
    minted,
    redeem,
    requested,
    steps,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def link(as_alice: Client) -> str:
    ask(as_alice)
    return link_in(mail_to(WORK))


def open_link(client: Client, path: str) -> str:
    return client.post(path, follow=True).content.decode()


def test_it_works(as_alice: Client, alice: User, link: str) -> None:
    assert f"Is {WORK} yours?" in as_alice.get(link).content.decode()
    page = open_link(as_alice, link)

    assert "the code is on its way there" in page
    organisation = Organisation.objects.get()
    assert [organisation.domain, organisation.name] == ["lab.example", "The Lab"]
    assert alice.memberships.get().address == WORK
    assert tier_of(alice).key == "organisation"
    code = minted(code_in(mail_to(WORK)))
    assert [code.organisation, code.state, code.request.account] == [organisation, "live", alice]
    assert steps() == ["requested", "proved", "organisation_verified", "joined", "minted"]


def test_opening_the_link_alone_proves_nothing(as_alice: Client, link: str) -> None:
    """Mail scanners open links."""
    as_alice.get(link)
    as_alice.head(link)

    assert not Organisation.objects.exists()
    assert EvaluationRequest.objects.get().proved_at is None


def test_link_works_once(as_alice: Client, link: str) -> None:
    open_link(as_alice, link)
    mails = WaitingMail.objects.count()

    for answer in (as_alice.get(link), as_alice.post(link)):
        assert answer.status_code == 410
        assert f"It proved {WORK} on" in answer.content.decode()
    assert WaitingMail.objects.count() == mails


def test_link_is_dated(as_alice: Client, link: str) -> None:
    EvaluationRequest.objects.update(link_expires_at=timezone.now() - dt.timedelta(seconds=1))

    for answer in (as_alice.get(link), as_alice.post(link)):
        assert answer.status_code == 410
        assert "It worked until" in answer.content.decode()
    assert not Organisation.objects.exists()


def test_link_is_checked_again_when_it_is_used(as_alice: Client, link: str) -> None:
    """Two clicks at once: the second waits for the first, and finds the link used up."""
    asked = EvaluationRequest.objects.get()
    requests.prove(asked)

    with pytest.raises(requests.LinkUsedUpError):
        requests.prove(asked)


@pytest.mark.parametrize("secret", ["x", "a" * 22])
def test_unknown_link_says_so(as_alice: Client, secret: str) -> None:
    answer = as_alice.get(f"/account/evaluation/verify/{secret}/")

    assert answer.status_code == 404
    assert "This link no longer works" in answer.content.decode()


def test_link_of_another_account_proves_nothing(link: str, make_account: MakeAccount) -> None:
    """Who types the address of somebody else must not profit from that one's click."""
    browser = browser_of(make_account("victim@lab.example", verified=True))

    for answer in (browser.get(link), browser.post(link)):
        assert answer.status_code == 403
        assert "belongs to another account" in answer.content.decode()
    assert WORK not in browser.get(link).content.decode()
    assert not Membership.objects.exists()


def test_link_asks_to_log_in_first(client: Client, link: str) -> None:
    answer = Client().post(link)

    assert answer["Location"] == f"/account/login/?next={link}"
    assert not Membership.objects.exists()


def test_suspected_domain_waits_for_a_person(as_alice: Client) -> None:
    ask(as_alice, address="alice@mailinator.com")
    page = open_link(as_alice, link_in(mail_to("alice@mailinator.com")))

    assert "on a list of throw-away mail" in page
    assert "a person looks at your request" in page
    assert EvaluationRequest.objects.get().state == "in_review"
    assert not Organisation.objects.exists()
    assert not EvaluationCode.objects.exists()
    assert steps() == ["requested", "proved", "put_to_review"]


def test_suspected_domain_that_staff_let_in_needs_no_second_look(as_alice: Client) -> None:
    Organisation.objects.create(domain="mailinator.com")
    ask(as_alice, address="alice@mailinator.com")
    open_link(as_alice, link_in(mail_to("alice@mailinator.com")))

    assert EvaluationCode.objects.get().organisation.domain == "mailinator.com"


def test_colleague_has_the_live_code(
    as_alice: Client, link: str, lab: Organisation, make_member: MakeMember
) -> None:
    asked = requested(make_member("bob"), "bob@lab.example")
    theirs = minted(mint(lab, "bob@lab.example", request=asked))
    page = open_link(as_alice, link)

    assert "Its code went to a colleague" in page
    assert "bob@" not in page
    assert EvaluationCode.objects.get() == theirs
    assert Membership.objects.filter(address=WORK).exists()


def test_code_that_staff_minted_stays(
    as_alice: Client, link: str, lab: Organisation, make_account: MakeAccount
) -> None:
    theirs = minted(mint(lab, "bob@lab.example", staff=make_account("staff@example.net")))
    page = open_link(as_alice, link)

    assert "Its code went to a colleague" in page
    assert EvaluationCode.objects.get() == theirs


def test_same_address_gets_a_new_code_and_the_old_one_is_void(
    as_alice: Client, link: str, alice: User
) -> None:
    open_link(as_alice, link)
    lost = code_in(mail_to(WORK))
    EvaluationRequest.objects.update(made_at=timezone.now() - dt.timedelta(hours=1))
    ask(as_alice)
    open_link(as_alice, link_in(mail_to(WORK)))
    newer = code_in(mail_to(WORK))

    assert [minted(lost).state, minted(newer).state] == ["revoked", "live"]
    page = redeem(as_alice, lost).content.decode()
    assert "This code was withdrawn on" in page
    assert steps()[-4:] == ["proved", "replaced", "minted", "refused"]


def test_code_whose_owner_is_gone_makes_way(
    as_alice: Client, link: str, lab: Organisation, make_account: MakeAccount
) -> None:
    bob = make_account("bob@example.net")
    asked = requested(bob, "bob@lab.example")
    orphan = minted(mint(lab, "bob@lab.example", request=asked))
    bob.delete()
    open_link(as_alice, link)

    orphan.refresh_from_db()
    assert orphan.state == "revoked"
    assert EvaluationCode.objects.live().get().request.address == WORK


def test_expired_code_of_a_colleague_makes_way(
    as_alice: Client, link: str, lab: Organisation, make_member: MakeMember
) -> None:
    asked = requested(make_member("bob"), "bob@lab.example")
    old = minted(mint(lab, "bob@lab.example", request=asked))
    EvaluationCode.objects.update(expires_at=timezone.now() - dt.timedelta(days=1))
    open_link(as_alice, link)

    old.refresh_from_db()
    assert old.state == "expired"
    assert EvaluationCode.objects.live().count() == 1


def test_organisation_that_had_its_evaluation_gets_no_second(
    as_alice: Client, link: str, lab: Organisation, make_member: MakeMember
) -> None:
    codes.redeem(make_member("bob"), mint(lab, "bob@lab.example"))
    page = open_link(as_alice, link)

    assert "lab.example had its evaluation, from" in page
    assert "An organisation gets one." in page
    assert not EvaluationCode.objects.live().exists()
    assert Membership.objects.filter(address=WORK).exists()


def test_address_of_another_member_says_so(
    as_alice: Client, link: str, lab: Organisation, make_account: MakeAccount
) -> None:
    from denpex.accounts.organisations import memberships

    memberships.admit(make_account("second@example.net"), lab, WORK)
    page = open_link(as_alice, link)

    assert f"{WORK} has made another account a member already." in page
    assert not EvaluationCode.objects.exists()


def test_closed_organisation_takes_nobody(
    as_alice: Client, link: str, lab: Organisation, make_account: MakeAccount
) -> None:
    closing.close(lab, make_account("staff@example.net", is_staff=True))
    page = open_link(as_alice, link)

    assert "lab.example does not count as a workplace here." in page
    assert not Membership.objects.exists()
    assert not EvaluationCode.objects.exists()
