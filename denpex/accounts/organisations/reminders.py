"""The mail that says an evaluation is about to end, once."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from denpex.accounts.organisations import audit
from denpex.accounts.organisations.audit import Event
from denpex.accounts.organisations.models import EvaluationCode, Membership
from denpex.accounts.standing import tier_after
from denpex.mail import outbox

__all__ = ["REMIND_BEFORE", "remind"]

REMIND_BEFORE = dt.timedelta(days=3)


def remind() -> None:
    """Write to whoever has an evaluation that ends soon and has not been told."""
    for code in _due():
        _remind(code)


def _due() -> QuerySet[EvaluationCode]:
    now = timezone.now()
    return EvaluationCode.objects.redeemed().filter(
        reminded_at__isnull=True, grant__ends_at__gt=now, grant__ends_at__lte=now + REMIND_BEFORE
    )


def _remind(code: EvaluationCode) -> None:
    """Send the mail together with the mark that it was sent, so that no second run sends it."""
    with transaction.atomic():
        unmarked = EvaluationCode.objects.filter(pk=code.pk, reminded_at__isnull=True)
        marked = unmarked.update(reminded_at=timezone.now())
        code = EvaluationCode.objects.select_related("grant__account", "organisation").get(
            pk=code.pk
        )
        if not marked or code.grant is None:
            return
        account = code.grant.account
        member = Membership.objects.filter(account=account, organisation=code.organisation).first()
        recipient = member.address if member else account.email
        ctx = {"email": recipient, "organisation": code.organisation, "grant": code.grant}
        ctx["tier_after"] = tier_after(code.grant)
        outbox.post("evaluation_ends", recipient, ctx, account)
        audit.record(Event.REMINDED, code=code, account=account)
