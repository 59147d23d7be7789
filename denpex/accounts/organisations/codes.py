"""Evaluation codes: minted for an organisation, one at a time; redeemed once, by a member."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import audit, tokens
from denpex.accounts.organisations.audit import Event
from denpex.accounts.organisations.memberships import hold
from denpex.accounts.organisations.models import (
    EvaluationCode,
    EvaluationRequest,
    Membership,
    Organisation,
)
from denpex.accounts.tiers import EVALUATION_PERIOD, TIERS
from denpex.mail import outbox

__all__ = [
    "CODE_PERIOD",
    "CodeRefusedError",
    "Refusal",
    "first_evaluation",
    "lapse",
    "mint",
    "redeem",
    "revoke",
]

CODE_PERIOD = dt.timedelta(days=14)
_TIER = "evaluation"

State = EvaluationCode.State


class Refusal(enum.StrEnum):
    """Why a code starts no evaluation."""

    UNKNOWN = "unknown"
    FOREIGN = "foreign"
    REPLAYED = "replayed"
    USED = "used"
    REVOKED = "revoked"
    EXPIRED = "expired"
    HAD_EVALUATION = "had_evaluation"


@dataclass
class CodeRefusedError(Exception):
    """The code starts no evaluation; `code` is None where we know none such."""

    refusal: Refusal
    code: EvaluationCode | None = None


def mint(
    organisation: Organisation,
    recipient: str,
    *,
    request: EvaluationRequest | None = None,
    staff: User | None = None,
    is_further: bool = False,
) -> EvaluationCode:
    """Make a code and mail it; the organisation is held. A live one makes way for it."""
    _close_live_codes(organisation, staff)
    account = request.account if request else None
    text = tokens.new_code()
    code = EvaluationCode.objects.create(
        organisation=organisation,
        request=request,
        digest=tokens.digest_of_code(text),
        is_further=is_further,
        minted_by=staff,
        expires_at=timezone.now() + CODE_PERIOD,
    )
    audit.record(Event.MINTED, code=code, account=account, staff=staff)
    ctx = {"code": text, "organisation": organisation, "expires_at": code.expires_at}
    ctx |= {"tier": TIERS[_TIER], "days": EVALUATION_PERIOD.days, "email": recipient}
    outbox.post("evaluation_code", recipient, ctx, account)
    return code


def revoke(code: EvaluationCode, staff: User) -> bool:
    """Withdraw a live code; say whether it was live."""
    with transaction.atomic():
        hold(code.organisation_id)
        closed = _close(code, State.LIVE, State.REVOKED)
        if closed:
            audit.record(Event.REVOKED, code=code, staff=staff)
        return closed


def lapse() -> None:
    """Close the codes whose time has passed."""
    for code in EvaluationCode.objects.overdue().select_related("organisation"):
        with transaction.atomic():
            hold(code.organisation_id)
            _expire(code)


def first_evaluation(organisation: Organisation) -> EvaluationCode | None:
    """Return the code of the one evaluation that an organisation gets without staff."""
    return organisation.codes.redeemed().filter(is_further=False).first()


def redeem(account: User, typed: str) -> Grant:
    """Start the evaluation of whoever types a code.

    Raises CodeRefusedError. Of several who redeem one code at once, the organisation's lock lets
    one through.
    """
    try:
        with transaction.atomic():
            return _redeem(account, typed)
    except CodeRefusedError as error:
        audit.record(Event.REFUSED, code=error.code, account=account, detail=error.refusal)
        raise


def _redeem(account: User, typed: str) -> Grant:
    digest = tokens.digest_of_code(typed)
    found = EvaluationCode.objects.filter(digest=digest).first()
    if found is None:
        raise CodeRefusedError(Refusal.UNKNOWN)
    organisation = hold(found.organisation_id)
    code = EvaluationCode.objects.select_related("organisation").get(pk=found.pk)
    refusal = _refusal(code, organisation, account)
    if refusal is not None:
        raise CodeRefusedError(refusal, code)
    return _start(code, account)


def _refusal(code: EvaluationCode, organisation: Organisation, account: User) -> Refusal | None:
    if not Membership.objects.filter(account=account, organisation=organisation).exists():
        return Refusal.FOREIGN
    if code.state == State.REDEEMED:
        return Refusal.REPLAYED if code.redeemed_by_id == account.pk else Refusal.USED
    if code.state == State.REVOKED:
        return Refusal.REVOKED
    if code.state == State.EXPIRED or code.expires_at <= timezone.now():
        return Refusal.EXPIRED
    if not code.is_further and first_evaluation(organisation):
        return Refusal.HAD_EVALUATION
    return None


def _start(code: EvaluationCode, account: User) -> Grant:
    now = timezone.now()
    code.grant = Grant.objects.create(
        account=account,
        tier=_TIER,
        begins_at=now,
        ends_at=now + EVALUATION_PERIOD,
        why=f"evaluation of {code.organisation.domain}",
    )
    code.state, code.closed_at, code.redeemed_by = State.REDEEMED, now, account
    code.save(update_fields=["grant", "state", "closed_at", "redeemed_by"])
    audit.record(Event.REDEEMED, code=code, account=account)
    return code.grant


def _close_live_codes(organisation: Organisation, staff: User | None) -> None:
    for code in organisation.codes.filter(state=State.LIVE):
        if code.expires_at <= timezone.now():
            _expire(code)
        elif _close(code, State.LIVE, State.REVOKED):
            audit.record(Event.REPLACED, code=code, staff=staff)


def _expire(code: EvaluationCode) -> None:
    if _close(code, State.LIVE, State.EXPIRED):
        audit.record(Event.EXPIRED, code=code)


def _close(code: EvaluationCode, old: State, new: State) -> bool:
    alike = EvaluationCode.objects.filter(pk=code.pk, state=old)
    return alike.update(state=new, closed_at=timezone.now()) > 0
