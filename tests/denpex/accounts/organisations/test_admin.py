"""Organisations, codes, requests and the audit trail in the staff's admin."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from denpex.accounts.models import User
from denpex.accounts.organisations import closing, codes
from denpex.accounts.organisations.models import (
    AuditEntry,
    EvaluationCode,
    EvaluationRequest,
    Organisation,
)
from denpex.accounts.standing import tier_of
from denpex.mail.models import WaitingMail
from tests.conftest import MakeAccount
from tests.denpex.accounts.organisations.conftest import (
    WORK,
    MakeMember,
    code_in,
    mail_to,
    mint,
    minted,
    requested,
    steps,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

SUSPECTED = "alice@mailinator.com"


@pytest.fixture
def staff(make_account: MakeAccount) -> User:
    return make_account("sam@example.net", is_staff=True)


@pytest.fixture
def as_staff(client: Client, staff: User) -> Client:
    client.force_login(staff)
    return client


@pytest.fixture
def waiting(alice: User) -> EvaluationRequest:
    request = requested(alice, SUSPECTED)
    EvaluationRequest.objects.update(state="in_review", is_suspected=True)
    request.refresh_from_db()
    return request


def act(client: Client, table: str, action: str, pk: int) -> str:
    typed = {"action": action, "_selected_action": str(pk)}
    return client.post(f"/staff/organisations/{table}/", typed, follow=True).content.decode()


def mint_as(client: Client, recipient: str = WORK, **fields: str):
    typed = {"recipient": recipient} | fields
    return client.post("/staff/organisations/evaluationcode/add/", typed, follow=True)


# Requests


def test_index_says_how_many_requests_wait(as_staff: Client, waiting: EvaluationRequest) -> None:
    assert "1 request to review" in as_staff.get("/staff/").content.decode()


def test_approved_request_gets_its_code(
    as_staff: Client, staff: User, alice: User, waiting: EvaluationRequest
) -> None:
    page = act(as_staff, "evaluationrequest", "approve", waiting.pk)

    assert "1 approved." in page
    waiting.refresh_from_db()
    assert [waiting.state, waiting.decided_by] == ["answered", staff]
    assert minted(code_in(mail_to(SUSPECTED))).organisation.domain == "mailinator.com"
    assert tier_of(alice).key == "organisation"
    assert steps() == ["approved", "organisation_verified", "joined", "minted"]
    assert AuditEntry.objects.get(event="approved").staff_id == staff.pk


def test_declined_request_is_told_why(
    as_staff: Client, staff: User, waiting: EvaluationRequest
) -> None:
    act(as_staff, "evaluationrequest", "decline", waiting.pk)

    waiting.refresh_from_db()
    assert waiting.state == "declined"
    assert "could not make out a workplace behind mailinator.com" in mail_to(SUSPECTED)
    assert not Organisation.objects.exists()
    assert steps() == ["declined"]


@pytest.mark.parametrize("action", ["approve", "decline"])
def test_request_is_decided_once(as_staff: Client, waiting: EvaluationRequest, action: str) -> None:
    act(as_staff, "evaluationrequest", "approve", waiting.pk)
    mails = WaitingMail.objects.count()
    page = act(as_staff, "evaluationrequest", action, waiting.pk)

    assert "1 left as they were" in page
    assert WaitingMail.objects.count() == mails


def test_approved_request_without_a_code_is_told_so(
    as_staff: Client, waiting: EvaluationRequest, make_account: MakeAccount
) -> None:
    organisation = Organisation.objects.create(domain="mailinator.com")
    mint(
        organisation, "bob@mailinator.com", request=requested(make_account(), "bob@mailinator.com")
    )
    act(as_staff, "evaluationrequest", "approve", waiting.pk)

    assert "It has a code already, which went to a colleague." in mail_to(SUSPECTED)


def test_what_waits_stands_first(
    as_staff: Client, waiting: EvaluationRequest, make_account: MakeAccount
) -> None:
    requested(make_account(), "newer@lab.example")
    page = as_staff.get("/staff/organisations/evaluationrequest/").content.decode()

    assert page.index(SUSPECTED) < page.index("newer@lab.example")


# Codes


def test_staff_mint_a_code_that_they_never_see(
    as_staff: Client, staff: User, lab: Organisation
) -> None:
    page = mint_as(as_staff).content.decode()

    code = code_in(mail_to(WORK))
    assert "was added successfully" in page
    assert code not in page
    assert [minted(code).minted_by, minted(code).state] == [staff, "live"]
    shown = as_staff.get(f"/staff/organisations/evaluationcode/{minted(code).pk}/change/")
    assert shown.status_code == 200
    assert code not in shown.content.decode()
    assert minted(code).digest not in shown.content.decode()


def test_minting_again_replaces_the_live_code(as_staff: Client, lab: Organisation) -> None:
    old = mint(lab)
    mint_as(as_staff)

    assert minted(old).state == "revoked"
    assert EvaluationCode.objects.live().count() == 1


def test_staff_vouch_for_an_organisation_that_nobody_proved_yet(
    as_staff: Client, staff: User
) -> None:
    mint_as(as_staff, "Head@HPC.New.example")

    assert minted(code_in(mail_to("head@hpc.new.example"))).organisation.domain == "new.example"
    assert AuditEntry.objects.get(event="organisation_verified").staff_id == staff.pk


def test_code_goes_to_no_free_mail_and_to_nothing_closed(
    as_staff: Client, staff: User, lab: Organisation
) -> None:
    closing.close(lab, staff)

    assert "it shows no workplace" in mint_as(as_staff, "alice@gmail.com").content.decode()
    assert "lab.example is closed" in mint_as(as_staff).content.decode()
    assert not EvaluationCode.objects.exists()


def test_further_evaluation_must_be_meant(
    as_staff: Client, lab: Organisation, make_member: MakeMember
) -> None:
    bob = make_member("bob")
    codes.redeem(bob, mint(lab, "bob@lab.example"))

    assert "lab.example had its evaluation." in mint_as(as_staff).content.decode()
    mint_as(as_staff, "bob@lab.example", is_further="on")
    codes.redeem(bob, code_in(mail_to("bob@lab.example")))
    assert bob.grants.filter(tier="evaluation").count() == 2


def test_staff_revoke_a_code(as_staff: Client, staff: User, lab: Organisation) -> None:
    code = minted(mint(lab))
    assert "1 revoked." in act(as_staff, "evaluationcode", "revoke", code.pk)

    code.refresh_from_db()
    assert code.state == "revoked"
    assert AuditEntry.objects.get(event="revoked").staff_id == staff.pk
    assert "1 left as they were" in act(as_staff, "evaluationcode", "revoke", code.pk)


def test_code_cannot_be_changed(as_staff: Client, lab: Organisation) -> None:
    code = minted(mint(lab))
    path = f"/staff/organisations/evaluationcode/{code.pk}/change/"

    assert as_staff.post(path, {"is_further": "on"}).status_code == 403


# Organisations and the trail


def test_staff_close_and_open_an_organisation(
    as_staff: Client, lab: Organisation, make_member: MakeMember
) -> None:
    bob = make_member("bob")
    assert "1 closed." in act(as_staff, "organisation", "close", lab.pk)
    assert tier_of(bob).key == "account"
    assert "1 open again." in act(as_staff, "organisation", "reopen", lab.pk)
    lab.refresh_from_db()
    assert lab.closed_at is None


def test_page_of_an_organisation_leads_to_members_and_codes(
    as_staff: Client, lab: Organisation, make_member: MakeMember
) -> None:
    make_member("bob")
    mint(lab)
    mint(Organisation.objects.create(domain="other.example"), "x@other.example")
    page = as_staff.get(f"/staff/organisations/organisation/{lab.pk}/change/").content.decode()
    found = re.findall(r'href="(/staff/[^"]+id__exact[^"]+)">Show<', page)
    members, codes_of_lab = (as_staff.get(path).content.decode() for path in found)

    assert "bob@lab.example" in members
    assert "lab.example" in codes_of_lab
    assert "other.example" not in codes_of_lab


def test_name_of_an_organisation_can_be_mended(as_staff: Client, lab: Organisation) -> None:
    as_staff.post(f"/staff/organisations/organisation/{lab.pk}/change/", {"name": "Lab 2"})

    lab.refresh_from_db()
    assert lab.name == "Lab 2"


def test_staff_end_a_membership(as_staff: Client, staff: User, make_member: MakeMember) -> None:
    bob = make_member("bob")
    page = act(as_staff, "membership", "end", bob.memberships.get().pk)

    assert "1 ended." in page
    assert tier_of(bob).key == "account"
    assert AuditEntry.objects.get(event="left").staff_id == staff.pk


def test_trail_is_read_only_and_outlives_the_account(
    as_staff: Client, lab: Organisation, make_member: MakeMember
) -> None:
    bob = make_member("bob")
    number = bob.pk
    bob.delete()
    path = "/staff/organisations/auditentry/"

    assert f"account {number}" in as_staff.get(path).content.decode()
    assert as_staff.get(f"{path}add/").status_code == 403
    entry = AuditEntry.objects.get()
    page = as_staff.get(f"{path}{entry.pk}/change/")
    assert page.status_code == 200
    assert 'type="submit"' not in page.content.decode().partition('id="content"')[2]


@pytest.mark.parametrize("table", ["organisation", "evaluationcode", "evaluationrequest"])
def test_history_of_a_row_is_the_trail(as_staff: Client, lab: Organisation, table: str) -> None:
    answer = as_staff.get(f"/staff/organisations/{table}/{lab.pk}/history/", follow=True)

    assert answer.status_code == 200
    assert answer.redirect_chain[0][0].startswith("/staff/organisations/auditentry/")
