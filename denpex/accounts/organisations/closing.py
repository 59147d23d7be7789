"""Organisations that are none after all: a domain that gives addresses to everybody, say."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from denpex.accounts.models import User
from denpex.accounts.organisations import audit, codes, memberships
from denpex.accounts.organisations.audit import Event
from denpex.accounts.organisations.memberships import hold
from denpex.accounts.organisations.models import Organisation

__all__ = ["close", "reopen"]


def close(organisation: Organisation, staff: User) -> bool:
    """End its memberships, revoke its code and take nobody in; say whether it was open."""
    with transaction.atomic():
        organisation = hold(organisation.pk)
        if organisation.closed_at is not None:
            return False
        organisation.closed_at = timezone.now()
        organisation.save(update_fields=["closed_at"])
        audit.record(Event.ORGANISATION_CLOSED, organisation=organisation, staff=staff)
        for code in organisation.codes.live():
            codes.revoke(code, staff)
        for membership in organisation.memberships.select_related("account"):
            memberships.leave(membership, staff)
        return True


def reopen(organisation: Organisation, staff: User) -> bool:
    """Let people in again; say whether it was closed."""
    with transaction.atomic():
        closed = Organisation.objects.filter(pk=organisation.pk, closed_at__isnull=False)
        if not closed.update(closed_at=None):
            return False
        audit.record(Event.ORGANISATION_REOPENED, organisation=organisation, staff=staff)
        return True
