"""Who sends a log: an account, or a visitor known by address and cookie."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from django.conf import settings
from django.http import HttpRequest

from denpex.accounts.models import User
from denpex.accounts.standing import tier_of
from denpex.accounts.tiers import ANONYMOUS, Tier
from diagnosis import quota, visitors
from diagnosis.visitors import Visitor

__all__ = ["Sender", "identify", "log_limit_bytes"]


@dataclass(frozen=True, slots=True)
class Sender:
    """Whoever asks for a diagnosis, with the tier that holds now.

    `given_cookie` is the cookie that the answer will set, where a visitor brings none.
    """

    tier: Tier
    visitor: Visitor
    account: User | None = None
    given_cookie: str | None = None

    @property
    def cookie(self) -> str | None:
        """The cookie that a visitor brings, or will be given."""
        return self.visitor.cookie or self.given_cookie

    def with_cookie(self) -> Sender:
        """Return the same sender, sure of a cookie."""
        return self if self.cookie else replace(self, given_cookie=visitors.new_cookie())

    def claim(self, day: dt.date) -> quota.Claim:
        """Return what a diagnosis of this sender counts against on `day`."""
        if self.account is not None:
            return quota.account_claim(self.account, self.tier, day)
        return quota.anonymous_claim(self.tier, self.visitor, day, self.given_cookie)

    def allowance(self) -> quota.Allowance:
        """Return what is left to this sender today."""
        day = visitors.today()
        return quota.left(self.claim(day), day)


def identify(request: HttpRequest) -> Sender:
    """Return who sends this request."""
    visitor = visitors.identify(request)
    if isinstance(request.user, User):
        return Sender(tier_of(request.user), visitor, request.user)
    return Sender(ANONYMOUS, visitor)


def log_limit_bytes(tier: Tier) -> int:
    """Return how large a log may be, after unpacking."""
    limit: int = settings.DENPEX_LOG_LIMIT_BYTES
    return limit * tier.log_limit_factor
