from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import audit
from denpex.accounts.organisations.models import (
    AuditEntry,
    EvaluationCode,
    EvaluationRequest,
    Membership,
    Organisation,
)
from tests.denpex.accounts.organisations.conftest import MakeMember, mint, requested

pytestmark = pytest.mark.django_db


def add_code(lab: Organisation, digest: str, **fields: object) -> EvaluationCode:
    soon = timezone.now() + dt.timedelta(days=1)
    return EvaluationCode.objects.create(
        **{"organisation": lab, "digest": digest, "expires_at": soon} | fields
    )


def test_an_organisation_has_one_live_code(lab: Organisation) -> None:
    add_code(lab, "a")

    with pytest.raises(IntegrityError, match="one_live_code_of_an_organisation"):
        add_code(lab, "b")


def test_an_organisation_has_one_evaluation_without_staff(lab: Organisation) -> None:
    ended = {"state": "redeemed", "closed_at": timezone.now()}
    add_code(lab, "a", **ended)
    add_code(lab, "b", is_further=True, **ended)

    with pytest.raises(IntegrityError, match="one_evaluation_of_an_organisation"):
        add_code(lab, "c", **ended)


def test_an_address_makes_one_account_a_member(make_member: MakeMember, alice: User) -> None:
    member = make_member("bob").memberships.get()
    grant = Grant.objects.create(account=alice, tier="organisation", why="a test")

    with pytest.raises(IntegrityError, match="address"):
        Membership.objects.create(
            account=alice, organisation=member.organisation, address=member.address, grant=grant
        )


@pytest.mark.parametrize("change", ["update", "delete", "save", "delete one"])
def test_audit_trail_is_only_added_to(lab: Organisation, change: str) -> None:
    audit.record(audit.Event.ORGANISATION_VERIFIED, organisation=lab)
    entry = AuditEntry.objects.get()
    changes: dict[str, Callable[[], object]] = {
        "update": lambda: AuditEntry.objects.update(detail="other"),
        "delete": lambda: AuditEntry.objects.all()._raw_delete("default"),
        "save": entry.save,
        "delete one": entry.delete,
    }

    with pytest.raises(DatabaseError, match="only added to"), transaction.atomic():
        changes[change]()

    assert AuditEntry.objects.get().detail == ""


def test_deleted_account_leaves_its_number_in_the_trail_and_nothing_else(
    lab: Organisation, make_member: MakeMember
) -> None:
    bob = make_member("bob")
    number = bob.pk
    mint(lab, "bob@lab.example", request=requested(bob, "bob@lab.example"))

    bob.delete()

    assert not Membership.objects.exists()
    assert not EvaluationRequest.objects.exists()
    assert not Grant.objects.exists()
    assert EvaluationCode.objects.get().request is None
    assert {entry.account_id for entry in AuditEntry.objects.all()} == {number}
    told = AuditEntry.objects.values_list("detail", "event")
    assert not [word for row in told for word in row if "bob" in word]
