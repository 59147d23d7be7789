"""What the paste form says of itself, the same on every page that has it."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.conf import settings

from denpex.accounts.tiers import ANONYMOUS, Tier
from diagnosis.samples import SAMPLES, Sample

__all__ = ["anonymous_tier", "paste_limit_megabytes", "sample_logs"]

register = template.Library()


@register.simple_tag
def paste_limit_megabytes() -> str:
    """Return the size limit of a log in megabytes."""
    return f"{settings.DENPEX_LOG_LIMIT_BYTES / 1_000_000:g}"


@register.simple_tag
def anonymous_tier() -> Tier:
    """Return what a visitor without an account may do."""
    return ANONYMOUS


@register.simple_tag
def sample_logs() -> Iterable[Sample]:
    """Return the logs to try the site with."""
    return SAMPLES.values()
