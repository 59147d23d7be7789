"""Who belongs to an organisation: by an address of its domain that they proved as their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allauth.account.models import EmailAddress
from allauth.account.signals import email_removed
from django.db import transaction
from django.dispatch import receiver
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import audit, domains
from denpex.accounts.organisations.audit import Event
from denpex.accounts.organisations.models import Membership, Organisation

__all__ = [
    "AddressTakenError",
    "OrganisationClosedError",
    "admit",
    "hold",
    "join",
    "joinable",
    "leave",
    "organisation_of",
]

_TIER = "organisation"


class AddressTakenError(Exception):
    """The address has made another account a member."""


class OrganisationClosedError(Exception):
    """Staff have closed the organisation."""


def hold(organisation_id: int) -> Organisation:
    """Lock an organisation until the transaction ends."""
    return Organisation.objects.select_for_update().get(pk=organisation_id)


def organisation_of(address: str, name: str = "", staff: User | None = None) -> Organisation:
    """Return the organisation of a proved address, locked; the first one makes it.

    Stands inside a transaction.
    """
    organisation, is_new = Organisation.objects.get_or_create(
        domain=domains.registrable_domain(address), defaults={"name": name}
    )
    if is_new:
        audit.record(Event.ORGANISATION_VERIFIED, organisation=organisation, staff=staff)
    return hold(organisation.pk)


def joinable(account: User) -> Sequence[EmailAddress]:
    """Return the verified addresses of the account that would make it a member somewhere."""
    joined = {each.organisation.domain for each in account.memberships.select_related()}
    verified = EmailAddress.objects.filter(user=account, verified=True).order_by("pk")
    found: dict[str, EmailAddress] = {}
    for address in verified:
        domain = domains.registrable_domain(address.email)
        if domain not in joined and _may_join(domain, address.email):
            found.setdefault(domain, address)
    return list(found.values())


def join(account: User, address: EmailAddress) -> Membership:
    """Make the account a member by a verified address of its own (see `joinable`).

    Raises AddressTakenError and OrganisationClosedError.
    """
    with transaction.atomic():
        return admit(account, organisation_of(address.email), address.email)


def admit(account: User, organisation: Organisation, address: str) -> Membership:
    """Make an account a member by an address that it proved; the organisation is held.

    Raises AddressTakenError and OrganisationClosedError.
    """
    if organisation.closed_at is not None:
        raise OrganisationClosedError
    if Membership.objects.filter(address=address).exclude(account=account).exists():
        raise AddressTakenError
    member = organisation.memberships.filter(account=account).first()
    if member is not None:
        return member
    grant = Grant.objects.create(
        account=account, tier=_TIER, why=f"member of {organisation.domain}"
    )
    audit.record(Event.JOINED, organisation=organisation, account=account)
    return Membership.objects.create(
        account=account, organisation=organisation, address=address, grant=grant
    )


def leave(membership: Membership, staff: User | None = None) -> bool:
    """End a membership and the tier that it gave; say whether there was one."""
    with transaction.atomic():
        organisation = hold(membership.organisation_id)
        gone, _ = Membership.objects.filter(pk=membership.pk).delete()
        if gone:
            Grant.objects.filter(pk=membership.grant_id).update(ends_at=timezone.now())
            audit.record(
                Event.LEFT, organisation=organisation, account=membership.account, staff=staff
            )
        return gone > 0


def _may_join(domain: str, address: str) -> bool:
    """Say whether an address makes its owner a member without a person looking at it."""
    organisation = Organisation.objects.filter(domain=domain).first()
    if organisation is None:
        return domains.kind_of(address) is domains.Kind.WORKPLACE
    return organisation.closed_at is None


@receiver(email_removed)
def _leave_with_the_address(user: User, email_address: EmailAddress, **_kwargs: Any) -> None:
    for membership in user.memberships.filter(address=email_address.email):
        leave(membership)
