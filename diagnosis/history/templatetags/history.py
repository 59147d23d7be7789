"""Entries of a history in words."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from diagnosis.history.models import HistoryEntry
from diagnosis.history.recurrences import Recurrence
from diagnosis.presentation import OUTCOMES

__all__ = ["of_entry", "outcome_in_words"]

register = template.Library()


@register.filter
def outcome_in_words(entry: HistoryEntry) -> str:
    """Return how the diagnosis ended, as the page of its verdict says it."""
    return OUTCOMES[entry.outcome].words


@register.filter
def of_entry(recurrences: Mapping[str, Recurrence], entry: HistoryEntry) -> Recurrence | None:
    """Return the recurrence that an entry is, if it is one."""
    return recurrences.get(entry.pk)
