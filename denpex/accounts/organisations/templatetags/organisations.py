"""Numbers for the staff's index."""

from __future__ import annotations

from django import template

from denpex.accounts.organisations.models import EvaluationRequest

__all__ = ["requests_awaiting_review"]

register = template.Library()


@register.simple_tag
def requests_awaiting_review() -> int:
    """Return how many requests wait for staff."""
    return EvaluationRequest.objects.awaiting_review().count()
