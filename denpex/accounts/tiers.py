"""Tiers: what a visitor or an account may do per day, as data.

Entitlements hang on the tier, never on conditions scattered over the code.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "ANONYMOUS",
    "EVALUATION_PERIOD",
    "TIERS",
    "WELCOME_DIAGNOSES",
    "Entitlement",
    "Queue",
    "Tier",
    "rank",
    "tiers_of_queue",
]

# What each new account gets besides its days.
WELCOME_DIAGNOSES = 3
EVALUATION_PERIOD = dt.timedelta(days=14)


class Entitlement(enum.StrEnum):
    """Something that a tier may do besides diagnosing."""

    FULL_FIX = "the full fix on every page"
    HISTORY = "history"


class Queue(enum.StrEnum):
    """The queues that a worker takes jobs from."""

    STANDARD = "diagnosis"
    PRIORITY = "diagnosis-priority"


@dataclass(frozen=True, slots=True)
class Tier:
    """What one kind of visitor may do.

    A limit of 0 means none at all. `diagnoses_a_day_per_address` is for visitors who are known by
    their address alone; None where the address does not matter. `keep_for` is how long a masked
    log and its verdict are kept. `log_limit_factor` says how many times DENPEX_LOG_LIMIT_BYTES a
    log may be.
    """

    key: str
    name: str
    diagnoses_a_day: int
    keep_for: dt.timedelta
    queue: Queue = Queue.STANDARD
    diagnoses_a_day_per_address: int | None = None
    log_limit_factor: int = 1
    entitlements: frozenset[Entitlement] = frozenset()

    def may(self, entitlement: Entitlement) -> bool:
        """Say whether this tier includes `entitlement`."""
        return entitlement in self.entitlements


_ACCOUNT = frozenset({Entitlement.FULL_FIX, Entitlement.HISTORY})

ANONYMOUS = Tier(
    key="anonymous",
    name="No account",
    diagnoses_a_day=3,
    diagnoses_a_day_per_address=15,
    keep_for=dt.timedelta(hours=24),
)

# From the lowest to the highest.
TIERS: Mapping[str, Tier] = {
    tier.key: tier
    for tier in (
        ANONYMOUS,
        Tier(
            "account",
            "Account, e-mail not verified",
            3,
            dt.timedelta(days=30),
            entitlements=_ACCOUNT,
        ),
        Tier("verified", "Verified e-mail", 5, dt.timedelta(days=30), entitlements=_ACCOUNT),
        Tier(
            "organisation",
            "Verified workplace",
            10,
            dt.timedelta(days=90),
            log_limit_factor=2,
            entitlements=_ACCOUNT,
        ),
        Tier(
            "evaluation",
            "Scale evaluation",
            50,
            dt.timedelta(days=90),
            queue=Queue.PRIORITY,
            log_limit_factor=5,
            entitlements=_ACCOUNT,
        ),
        Tier(
            "scale",
            "Scale",
            50,
            dt.timedelta(days=365),
            queue=Queue.PRIORITY,
            log_limit_factor=5,
            entitlements=_ACCOUNT,
        ),
    )
}


def rank(key: str) -> int:
    """Return the place of a tier among all: 0 is the lowest."""
    return list(TIERS).index(key)


def tiers_of_queue(queue: Queue) -> tuple[str, ...]:
    """Return the keys of the tiers whose jobs go to `queue`."""
    return tuple(tier.key for tier in TIERS.values() if tier.queue is queue)
