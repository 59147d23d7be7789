"""What an account may do now: the one place that turns facts about an account into its tier."""

from __future__ import annotations

from dataclasses import replace

from allauth.account.models import EmailAddress
from django.contrib.auth.models import AnonymousUser

from denpex.accounts.models import Grant, User
from denpex.accounts.tiers import ANONYMOUS, TIERS, Tier, rank

__all__ = ["current_grant", "tier_after", "tier_of"]


def tier_of(user: User | AnonymousUser) -> Tier:
    """Return the tier of whoever asks, with the daily limit that holds now.

    A current grant goes before what the account's own address gives.
    """
    if not isinstance(user, User):
        return ANONYMOUS
    grant = current_grant(user)
    return _own_tier(user) if grant is None else _tier_of_grant(grant)


def current_grant(account: User) -> Grant | None:
    """Return the grant that counts now: a limit of 0 before all, else that of the highest tier."""
    grants = list(account.grants.current())
    return max(grants, key=_weight) if grants else None


def _own_tier(account: User) -> Tier:
    verified = EmailAddress.objects.filter(user=account, verified=True).exists()
    return TIERS["verified" if verified else "account"]


def _weight(grant: Grant) -> tuple[bool, int, int, int]:
    limit = _tier_of_grant(grant).diagnoses_a_day
    return (limit == 0, rank(grant.tier), limit, grant.pk)


def _tier_of_grant(grant: Grant) -> Tier:
    tier = TIERS[grant.tier]
    limit = grant.diagnoses_a_day
    return tier if limit is None else replace(tier, diagnoses_a_day=limit)


def tier_after(grant: Grant) -> Tier:
    """Return the tier that its account has when the grant has ended, as things stand now."""
    others = [each for each in grant.account.grants.current() if each.pk != grant.pk]
    return _tier_of_grant(max(others, key=_weight)) if others else _own_tier(grant.account)
