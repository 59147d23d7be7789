"""The lab at lab.example, its people, and what they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from tests.conftest import MakeAccount

if TYPE_CHECKING:
    from denpex.accounts.models import User
    from denpex.accounts.organisations.models import (
        EvaluationCode,
        EvaluationRequest,
        Organisation,
    )

MakeMember = Callable[..., "User"]

WORK = "alice@gpu.lab.example"
PURPOSE = "Runs of 512 ranks that end in time-outs."
TYPED = {"address": WORK, "organisation_name": "The Lab", "purpose": PURPOSE}

_CODE = re.compile(r"\b[A-Z2-7]{4}(?:-[A-Z2-7]{4}){6}\b")


@pytest.fixture
def alice(make_account: MakeAccount) -> User:
    return make_account("alice@example.org", verified=True)


@pytest.fixture
def as_alice(client: Client, alice: User, redis: object) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def lab(db: None) -> Organisation:
    from denpex.accounts.organisations.models import Organisation

    return Organisation.objects.create(domain="lab.example", name="The Lab")


@pytest.fixture
def make_member(make_account: MakeAccount, lab: Organisation) -> MakeMember:
    """Make an account that is a member of the lab: `make_member("bob")`."""
    from denpex.accounts.organisations import memberships

    def make(name: str = "bob") -> User:
        account = make_account(f"{name}@example.net")
        memberships.admit(account, lab, f"{name}@lab.example")
        return account

    return make


def mint(organisation: Organisation, recipient: str = WORK, **fields: Any) -> str:
    """Mint a code as a proved request does, and read it in its mail."""
    from django.db import transaction

    from denpex.accounts.organisations import codes, memberships

    with transaction.atomic():
        codes.mint(memberships.hold(organisation.pk), recipient, **fields)
    return code_in(mail_to(recipient))


def requested(account: User, address: str) -> EvaluationRequest:
    """Make a request whose address is proved."""
    from django.utils import timezone

    from denpex.accounts.organisations.models import EvaluationRequest

    return EvaluationRequest.objects.create(
        account=account,
        address=address,
        organisation_name="The Lab",
        purpose=PURPOSE,
        state="answered",
        proved_at=timezone.now(),
        link_digest=address,
        link_expires_at=timezone.now(),
    )


def minted(text: str) -> EvaluationCode:
    from denpex.accounts.organisations import tokens
    from denpex.accounts.organisations.models import EvaluationCode

    return EvaluationCode.objects.get(digest=tokens.digest_of_code(text))


def mail_to(recipient: str) -> str:
    """Return the text of the newest mail to an address that waits to be sent."""
    from denpex.mail.models import WaitingMail

    mail = WaitingMail.objects.filter(recipient=recipient).order_by("pk").last()
    assert mail is not None
    return mail.text


def code_in(text: str) -> str:
    found = _CODE.search(text)
    assert found is not None, text
    return found[0]


def ask(client: Client, **typed: str):
    """Send the form that requests a code."""
    return client.post("/account/evaluation/request/", TYPED | typed, follow=True)


def redeem(client: Client, code: str):
    """Send the form that redeems a code."""
    return client.post("/account/evaluation/redeem/", {"code": code}, follow=True)


def browser_of(account: User) -> Client:
    client = Client()
    client.force_login(account)
    return client


def steps() -> list[str]:
    """Return the steps of the audit trail, from the first on."""
    from denpex.accounts.organisations.models import AuditEntry

    return list(AuditEntry.objects.order_by("pk").values_list("event", flat=True))
