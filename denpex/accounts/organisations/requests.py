"""From the form to the code: asked for, proved by a link, looked at by staff where need be."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from denpex.accounts.models import User
from denpex.accounts.organisations import audit, codes, domains, memberships, tokens
from denpex.accounts.organisations.audit import Event
from denpex.accounts.organisations.memberships import AddressTakenError, OrganisationClosedError
from denpex.accounts.organisations.models import EvaluationCode, EvaluationRequest, Organisation
from denpex.mail import outbox

__all__ = [
    "LINK_PERIOD",
    "Application",
    "LinkUsedUpError",
    "Outcome",
    "approve",
    "ask",
    "decline",
    "find",
    "is_open",
    "prove",
]

LINK_PERIOD = dt.timedelta(days=3)
# Two requests of one form within this time are a double click.
_DOUBLE_CLICK = dt.timedelta(minutes=1)

State = EvaluationRequest.State


class LinkUsedUpError(Exception):
    """The link has been used, or its time has passed."""


class Outcome(enum.Enum):
    """What came of a proved address."""

    CODE_SENT = enum.auto()
    IN_REVIEW = enum.auto()
    CODE_WITH_COLLEAGUE = enum.auto()
    HAD_EVALUATION = enum.auto()
    ADDRESS_TAKEN = enum.auto()
    ORGANISATION_CLOSED = enum.auto()


@dataclass(frozen=True, slots=True)
class Application:
    """What the form asks for."""

    address: str
    organisation_name: str
    purpose: str


def ask(account: User, application: Application) -> None:
    """Mail the link that proves the address. What is said is the same, whoever it belongs to."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=account.pk)
        if not _is_double_click(account, application):
            _send_link(account, application)


def find(secret: str) -> EvaluationRequest | None:
    """Return the request whose link holds this secret."""
    found = EvaluationRequest.objects.select_related("account")
    return found.filter(link_digest=tokens.digest_of_link(secret)).first()


def is_open(request: EvaluationRequest) -> bool:
    """Say whether the link of a request can still be used."""
    return request.state == State.LINK_SENT and request.link_expires_at > timezone.now()


def prove(request: EvaluationRequest) -> Outcome:
    """Go on with a request whose account has opened its link.

    Raises LinkUsedUpError.
    """
    with transaction.atomic():
        request = EvaluationRequest.objects.select_for_update(of=["self"]).get(pk=request.pk)
        if not is_open(request):
            raise LinkUsedUpError
        request.proved_at = timezone.now()
        audit.record(Event.PROVED, account=request.account)
        if _needs_review(request):
            _settle(request, State.IN_REVIEW)
            audit.record(Event.PUT_TO_REVIEW, account=request.account)
            return Outcome.IN_REVIEW
        return _answer(request)


def approve(request: EvaluationRequest, staff: User) -> Outcome | None:
    """Go on with a request that waited for staff; None where it waits no longer."""
    with transaction.atomic():
        request = EvaluationRequest.objects.select_for_update(of=["self"]).get(pk=request.pk)
        if request.state != State.IN_REVIEW:
            return None
        request.decided_at, request.decided_by = timezone.now(), staff
        audit.record(Event.APPROVED, account=request.account, staff=staff)
        outcome = _answer(request, staff)
        if outcome is not Outcome.CODE_SENT:
            _tell(request, "evaluation_reviewed", outcome=outcome.name)
        return outcome


def decline(request: EvaluationRequest, staff: User) -> bool:
    """Turn down a request that waited for staff; say whether it still did."""
    with transaction.atomic():
        request = EvaluationRequest.objects.select_for_update(of=["self"]).get(pk=request.pk)
        if request.state != State.IN_REVIEW:
            return False
        request.decided_at, request.decided_by = timezone.now(), staff
        _settle(request, State.DECLINED)
        audit.record(Event.DECLINED, account=request.account, staff=staff)
        _tell(request, "evaluation_declined")
        return True


def _is_double_click(account: User, application: Application) -> bool:
    alike = account.evaluation_requests.awaiting_proof().filter(address=application.address)
    return alike.filter(made_at__gt=timezone.now() - _DOUBLE_CLICK).exists()


def _send_link(account: User, application: Application) -> None:
    secret = tokens.new_link()
    suspected = domains.kind_of(application.address) is domains.Kind.SUSPECTED
    request = EvaluationRequest.objects.create(
        account=account,
        address=application.address,
        organisation_name=application.organisation_name,
        purpose=application.purpose,
        is_suspected=suspected,
        link_digest=tokens.digest_of_link(secret),
        link_expires_at=timezone.now() + LINK_PERIOD,
    )
    audit.record(Event.REQUESTED, account=account)
    path = reverse("evaluation_verify", args=[secret])
    _tell(request, "evaluation_link", link=f"{settings.DENPEX_ORIGIN}{path}")


def _needs_review(request: EvaluationRequest) -> bool:
    """Say whether a person must look: not where staff have let the domain in before."""
    domain = domains.registrable_domain(request.address)
    return request.is_suspected and not Organisation.objects.filter(domain=domain).exists()


def _answer(request: EvaluationRequest, staff: User | None = None) -> Outcome:
    organisation = memberships.organisation_of(request.address, request.organisation_name, staff)
    _settle(request, State.ANSWERED)
    try:
        memberships.admit(request.account, organisation, request.address)
    except AddressTakenError:
        return Outcome.ADDRESS_TAKEN
    except OrganisationClosedError:
        return Outcome.ORGANISATION_CLOSED
    if codes.first_evaluation(organisation):
        return Outcome.HAD_EVALUATION
    live = organisation.codes.live().select_related("request").first()
    if live is not None and not _may_replace(live, request):
        return Outcome.CODE_WITH_COLLEAGUE
    codes.mint(organisation, request.address, request=request)
    return Outcome.CODE_SENT


def _may_replace(code: EvaluationCode, request: EvaluationRequest) -> bool:
    """Whoever lost a code may have a new one; so may all once its owner's account is gone."""
    if code.minted_by_id is not None:
        return False
    return code.request is None or code.request.address == request.address


def _settle(request: EvaluationRequest, state: State) -> None:
    request.state = state
    request.save(update_fields=["state", "proved_at", "decided_at", "decided_by"])


def _tell(request: EvaluationRequest, letter: str, **facts: object) -> None:
    domain = domains.registrable_domain(request.address)
    ctx = {"email": request.address, "domain": domain, **facts}
    outbox.post(letter, request.address, ctx, request.account)
