from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from denpex.accounts.models import User
from denpex.accounts.organisations import closing, codes
from denpex.accounts.organisations.models import EvaluationCode, Membership, Organisation
from denpex.accounts.standing import tier_of
from tests.conftest import MakeAccount
from tests.denpex.accounts.conftest import confirm_password, log_in
from tests.denpex.accounts.organisations.conftest import MakeMember, browser_of, mint, steps

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def worker_at_lab(make_account: MakeAccount) -> User:
    return make_account("dora@lab.example", verified=True)


def own_address(account: User) -> int:
    return EmailAddress.objects.get(user=account).pk


def join(account: User, address_id: int):
    path = f"/account/organisations/join/{address_id}/"
    return browser_of(account).post(path, follow=True)


def leave(account: User, membership_id: int):
    path = f"/account/organisations/leave/{membership_id}/"
    return browser_of(account).post(path, follow=True)


def test_it_works(worker_at_lab: User, lab: Organisation) -> None:
    assert "Join as dora@lab.example" in browser_of(worker_at_lab).get("/account/").content.decode()
    page = join(worker_at_lab, own_address(worker_at_lab)).content.decode()

    assert "You are a member of lab.example: 10 diagnoses a day." in page
    assert "Join as" not in page
    assert [tier_of(worker_at_lab).key, tier_of(worker_at_lab).diagnoses_a_day] == [
        "organisation",
        10,
    ]
    assert steps() == ["joined"]


def test_first_member_makes_the_organisation(worker_at_lab: User) -> None:
    join(worker_at_lab, own_address(worker_at_lab))

    assert Organisation.objects.get().domain == "lab.example"
    assert steps() == ["organisation_verified", "joined"]


def test_joining_twice_is_joining_once(worker_at_lab: User) -> None:
    number = own_address(worker_at_lab)
    join(worker_at_lab, number)

    assert join(worker_at_lab, number).status_code == 404
    assert worker_at_lab.grants.count() == 1


@pytest.mark.parametrize(
    ("address", "verified"),
    [
        ("dora@lab.example", False),
        ("dora@gmail.com", True),
        ("dora@mailinator.com", True),
    ],
)
def test_address_that_shows_no_workplace_joins_nothing(
    make_account: MakeAccount, address: str, *, verified: bool
) -> None:
    account = make_account(address, verified=verified)

    assert "Join as" not in browser_of(account).get("/account/").content.decode()
    assert join(account, own_address(account)).status_code == 404
    assert not Organisation.objects.exists()


def test_suspected_domain_that_staff_let_in_can_be_joined(make_account: MakeAccount) -> None:
    Organisation.objects.create(domain="mailinator.com")
    account = make_account("dora@mailinator.com", verified=True)

    assert join(account, own_address(account)).status_code == 200
    assert tier_of(account).key == "organisation"


def test_address_of_another_account_joins_nothing(worker_at_lab: User, alice: User) -> None:
    assert join(alice, own_address(worker_at_lab)).status_code == 404
    assert join(alice, 10**9).status_code == 404
    assert not Membership.objects.exists()


def test_address_that_made_another_account_a_member_says_so(
    worker_at_lab: User, lab: Organisation, alice: User
) -> None:
    from denpex.accounts.organisations import memberships

    memberships.admit(alice, lab, "dora@lab.example")
    page = join(worker_at_lab, own_address(worker_at_lab)).content.decode()

    assert "has made another account a member already" in page
    assert tier_of(worker_at_lab).key == "verified"


def test_closed_organisation_takes_nobody(
    worker_at_lab: User, lab: Organisation, alice: User
) -> None:
    closing.close(lab, alice)

    assert join(worker_at_lab, own_address(worker_at_lab)).status_code == 404


def test_member_leaves(make_member: MakeMember) -> None:
    bob = make_member("bob")
    page = leave(bob, bob.memberships.get().pk).content.decode()

    assert "You have left lab.example." in page
    assert tier_of(bob).key == "account"
    assert bob.grants.get().ends_at is not None
    assert steps() == ["joined", "left"]


def test_membership_of_another_cannot_be_ended(make_member: MakeMember, alice: User) -> None:
    theirs = make_member("bob").memberships.get()

    assert leave(alice, theirs.pk).status_code == 404
    assert leave(alice, 10**9).status_code == 404
    assert Membership.objects.get() == theirs


def test_who_left_can_join_again(worker_at_lab: User) -> None:
    join(worker_at_lab, own_address(worker_at_lab))
    leave(worker_at_lab, worker_at_lab.memberships.get().pk)
    join(worker_at_lab, own_address(worker_at_lab))

    assert tier_of(worker_at_lab).key == "organisation"


def test_evaluation_goes_on_without_the_membership(
    make_member: MakeMember, lab: Organisation
) -> None:
    bob = make_member("bob")
    codes.redeem(bob, mint(lab, "bob@lab.example"))
    leave(bob, bob.memberships.get().pk)

    assert tier_of(bob).key == "evaluation"


def test_membership_ends_with_the_address_that_made_it(worker_at_lab: User, client: Client) -> None:
    join(worker_at_lab, own_address(worker_at_lab))
    EmailAddress.objects.filter(user=worker_at_lab).update(primary=False)
    EmailAddress.objects.create(
        user=worker_at_lab, email="dora@example.org", verified=True, primary=True
    )
    log_in(client, "dora@lab.example")
    confirm_password(client)
    client.post("/account/email/", {"action_remove": "", "email": "dora@lab.example"})

    assert not EmailAddress.objects.filter(email="dora@lab.example").exists()
    assert not Membership.objects.exists()
    assert tier_of(worker_at_lab).key == "verified"


@pytest.mark.parametrize("way", ["join", "leave"])
def test_ways_in_and_out_are_for_forms_and_accounts_alone(
    client: Client, alice: User, way: str
) -> None:
    path = f"/account/organisations/{way}/1/"

    assert client.get(path).status_code == 405
    assert client.post(path)["Location"] == "/account/login/?next=/account/"


def test_closing_ends_memberships_and_code_and_can_be_undone(
    make_member: MakeMember, lab: Organisation, alice: User
) -> None:
    bob = make_member("bob")
    mint(lab)

    assert closing.close(lab, alice)
    assert not closing.close(lab, alice)

    assert tier_of(bob).key == "account"
    assert EvaluationCode.objects.get().state == "revoked"
    assert steps() == ["joined", "minted", "organisation_closed", "revoked", "left"]
    assert closing.reopen(lab, alice)
    assert not closing.reopen(lab, alice)
    lab.refresh_from_db()
    assert lab.closed_at is None
