"""Numbers of the tiers, for pages and mails that name them, and a secret as people type it."""

from __future__ import annotations

from django import template
from django.conf import settings

from denpex.accounts.tiers import EVALUATION_PERIOD, TIERS, WELCOME_DIAGNOSES, Tier

__all__ = ["evaluation_days", "in_fours", "most_addresses", "tier", "welcome_diagnoses"]

register = template.Library()


@register.simple_tag
def tier(key: str) -> Tier:
    """Return the tier of this key."""
    return TIERS[key]


@register.simple_tag
def welcome_diagnoses() -> int:
    """Return how many diagnoses a new account gets besides its days."""
    return WELCOME_DIAGNOSES


@register.simple_tag
def evaluation_days() -> int:
    """Return how many days an evaluation lasts."""
    return EVALUATION_PERIOD.days


@register.simple_tag
def most_addresses() -> int:
    """Return how many e-mail addresses an account may have."""
    most: int = settings.ACCOUNT_MAX_EMAIL_ADDRESSES
    return most


@register.filter
def in_fours(secret: str) -> str:
    """Part a secret that is typed by hand into groups of four."""
    return " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
