"""Allowances: how many diagnoses are left today, taken and given back exactly.

Counts are taken by upserts inside the transaction that writes the job, always in one order (an
account's welcome before its day, address before visitor), so that two requests never wait for each
other.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from django.db import connection
from django.db.models import F

from denpex.accounts.models import User
from denpex.accounts.tiers import WELCOME_DIAGNOSES, Tier
from diagnosis.models import AllowanceCount, AllowanceEntry, Job, WelcomeCount
from diagnosis.visitors import Visitor, key_of, subject

__all__ = [
    "Allowance",
    "AllowanceSpentError",
    "Charge",
    "Claim",
    "account_claim",
    "allowance_of",
    "anonymous_claim",
    "left",
    "refund",
    "require",
    "take",
]

# One statement counts and refuses: the row's lock makes it exact whoever else is counting.
_TAKE = """
    INSERT INTO diagnosis_allowancecount AS counted (day, subject, used) VALUES (%s, %s, 1)
    ON CONFLICT (day, subject) DO UPDATE SET used = counted.used + 1 WHERE counted.used < %s
    RETURNING used
"""
_TAKE_WELCOME = """
    INSERT INTO diagnosis_welcomecount AS counted (account_id, used) VALUES (%s, 1)
    ON CONFLICT (account_id) DO UPDATE SET used = counted.used + 1 WHERE counted.used < %s
    RETURNING used
"""


@dataclass(frozen=True, slots=True)
class Charge:
    """One count that a diagnosis adds to: whose (a digest), how many it may reach in a day.

    `shared` says that others than this visitor may have used it up.
    """

    subject: str
    limit: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """What a diagnosis counts against, in the order of locking.

    `welcome_of` is the id of an account that may have diagnoses left from when it was new; those
    are used first, and then the charges are left alone.
    """

    charges: tuple[Charge, ...]
    welcome_of: int | None = None


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a day's diagnoses, and when the day turns (UTC).

    `welcome` of those that a new account gets besides are left.
    """

    limit: int
    left: int
    returns_at: dt.datetime
    shared: bool = False
    welcome: int = 0

    @property
    def is_spent(self) -> bool:
        """Say whether nothing may be diagnosed until the day turns."""
        return self.left == 0 and self.welcome == 0


class AllowanceSpentError(Exception):
    """Nothing is left today; `allowance` says of what, and when it returns."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__("the allowance of the day is spent")
        self.allowance = allowance


def anonymous_claim(
    tier: Tier, visitor: Visitor, day: dt.date, given_cookie: str | None = None
) -> Claim:
    """Return what a diagnosis without an account counts against.

    Who brings no cookie is counted by address, and by the cookie that the answer gives: else the
    first diagnosis of a day would not count against the browser that keeps the cookie.
    """
    key = key_of(day)
    charges = []
    if tier.diagnoses_a_day_per_address is not None:
        address = subject("address", visitor.address, key)
        charges.append(Charge(address, tier.diagnoses_a_day_per_address, shared=True))
    if visitor.cookie is None:
        bare_address = subject("address without cookie", visitor.address, key)
        charges.append(Charge(bare_address, tier.diagnoses_a_day, shared=True))
    cookie = visitor.cookie or given_cookie
    if cookie is not None:
        charges.append(Charge(subject("visitor", cookie, key), tier.diagnoses_a_day))
    return Claim(tuple(charges))


def account_claim(account: User, tier: Tier, day: dt.date) -> Claim:
    """Return what a diagnosis of this account counts against.

    A limit of 0 means none at all, so that it shuts off the welcome too.
    """
    counted = subject("account", str(account.pk), key_of(day))
    welcome_of = account.pk if tier.diagnoses_a_day > 0 else None
    return Claim((Charge(counted, tier.diagnoses_a_day),), welcome_of)


def allowance_of(account: User, tier: Tier, day: dt.date) -> Allowance:
    """Return what is left to this account on this day."""
    return left(account_claim(account, tier, day), day)


def left(claim: Claim, day: dt.date) -> Allowance:
    """Return the allowance of the tightest charge, without taking anything."""
    used = dict(
        AllowanceCount.objects.filter(
            day=day, subject__in=[charge.subject for charge in claim.charges]
        ).values_list("subject", "used")
    )
    tightest = min(
        (_allowance(charge, used.get(charge.subject, 0), day) for charge in claim.charges),
        key=lambda allowance: allowance.left,
    )
    return replace(tightest, welcome=_welcome_left(claim))


def require(claim: Claim, day: dt.date) -> None:
    """Raise AllowanceSpentError where nothing is left, without taking anything."""
    allowance = left(claim, day)
    if allowance.is_spent:
        raise AllowanceSpentError(allowance)


def take(job: Job, claim: Claim, day: dt.date) -> None:
    """Count `job` against its claim. Stands inside the transaction that writes the job.

    Raises AllowanceSpentError where a charge is used up; the caller's transaction then takes back
    what was counted already.
    """
    welcome = _take_welcome(claim)
    charges = () if welcome else claim.charges
    for charge in charges:
        _take(charge, day)
    AllowanceEntry.objects.create(
        job=job, day=day, subjects=[charge.subject for charge in charges], welcome=welcome
    )


def _take_welcome(claim: Claim) -> bool:
    if claim.welcome_of is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_WELCOME, [claim.welcome_of, WELCOME_DIAGNOSES])
        return cursor.fetchone() is not None


def _take(charge: Charge, day: dt.date) -> None:
    if charge.limit > 0:
        with connection.cursor() as cursor:
            cursor.execute(_TAKE, [day, charge.subject, charge.limit])
            if cursor.fetchone() is not None:
                return
    raise AllowanceSpentError(_allowance(charge, charge.limit, day))


def refund(job_id: str) -> bool:
    """Give back what the job took, on the day it was taken; say whether there was anything to give.

    Stands inside a transaction. The entry is removed, so that a second refund finds none.
    """
    entries = AllowanceEntry.objects.select_for_update(of=["self"]).select_related("job")
    entry = entries.filter(job_id=job_id).first()
    if entry is None:
        return False
    if entry.welcome:
        given = WelcomeCount.objects.filter(account=entry.job.account_id, used__gt=0)
        given.update(used=F("used") - 1)
    for counted in entry.subjects:
        AllowanceCount.objects.filter(day=entry.day, subject=counted, used__gt=0).update(
            used=F("used") - 1
        )
    entry.delete()
    return True


def _welcome_left(claim: Claim) -> int:
    if claim.welcome_of is None:
        return 0
    counted = WelcomeCount.objects.filter(account=claim.welcome_of).first()
    return max(WELCOME_DIAGNOSES - (counted.used if counted else 0), 0)


def _allowance(charge: Charge, used: int, day: dt.date) -> Allowance:
    midnight = dt.time(tzinfo=dt.UTC)
    return Allowance(
        limit=charge.limit,
        left=max(charge.limit - used, 0),
        returns_at=dt.datetime.combine(day + dt.timedelta(days=1), midnight),
        shared=charge.shared,
    )
