"""Allowances: how many diagnoses are left today, taken and given back exactly.

Counts are taken by upserts inside the transaction that writes the job, always in one order (address
before visitor), so that two requests never wait for each other.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import F

from denpex.accounts.tiers import Tier
from diagnosis.models import AllowanceCount, AllowanceEntry, Job
from diagnosis.visitors import Visitor, key_of, subject

__all__ = [
    "Allowance",
    "AllowanceSpentError",
    "Charge",
    "anonymous_charges",
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


@dataclass(frozen=True, slots=True)
class Charge:
    """One count that a diagnosis adds to: whose (a digest), how many it may reach in a day.

    `shared` says that others than this visitor may have used it up.
    """

    subject: str
    limit: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a day's diagnoses, and when the day turns (UTC)."""

    limit: int
    left: int
    returns_at: dt.datetime
    shared: bool = False


class AllowanceSpentError(Exception):
    """Nothing is left today; `allowance` says of what, and when it returns."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__("the allowance of the day is spent")
        self.allowance = allowance


def anonymous_charges(
    tier: Tier, visitor: Visitor, day: dt.date, given_cookie: str | None = None
) -> tuple[Charge, ...]:
    """Return what a diagnosis without an account counts against, in the order of locking.

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
    return tuple(charges)


def left(charges: Sequence[Charge], day: dt.date) -> Allowance:
    """Return the allowance of the tightest charge, without taking anything."""
    used = dict(
        AllowanceCount.objects.filter(
            day=day, subject__in=[charge.subject for charge in charges]
        ).values_list("subject", "used")
    )
    return min(
        (_allowance(charge, used.get(charge.subject, 0), day) for charge in charges),
        key=lambda allowance: allowance.left,
    )


def require(charges: Sequence[Charge], day: dt.date) -> None:
    """Raise AllowanceSpentError where nothing is left, without taking anything."""
    allowance = left(charges, day)
    if allowance.left == 0:
        raise AllowanceSpentError(allowance)


def take(job: Job, charges: Sequence[Charge], day: dt.date) -> None:
    """Count `job` against every charge. Stands inside the transaction that writes the job.

    Raises AllowanceSpentError where one of them is used up; the caller's transaction then takes
    back what was counted already.
    """
    with connection.cursor() as cursor:
        for charge in charges:
            if charge.limit > 0:
                cursor.execute(_TAKE, [day, charge.subject, charge.limit])
            if charge.limit <= 0 or cursor.fetchone() is None:
                raise AllowanceSpentError(_allowance(charge, charge.limit, day))
    AllowanceEntry.objects.create(job=job, day=day, subjects=[charge.subject for charge in charges])


def refund(job_id: str) -> bool:
    """Give back what the job took, on the day it was taken; say whether there was anything to give.

    Stands inside a transaction. The entry is removed, so that a second refund finds none.
    """
    entry = AllowanceEntry.objects.select_for_update().filter(job_id=job_id).first()
    if entry is None:
        return False
    entry.delete()
    for counted in entry.subjects:
        AllowanceCount.objects.filter(day=entry.day, subject=counted, used__gt=0).update(
            used=F("used") - 1
        )
    return True


def _allowance(charge: Charge, used: int, day: dt.date) -> Allowance:
    midnight = dt.time(tzinfo=dt.UTC)
    return Allowance(
        limit=charge.limit,
        left=max(charge.limit - used, 0),
        returns_at=dt.datetime.combine(day + dt.timedelta(days=1), midnight),
        shared=charge.shared,
    )
