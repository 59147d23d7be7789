"""Entries of a history in words."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from diagnosis.history.models import HistoryEntry
from diagnosis.history.recurrences import Recurrence
from diagnosis.presentation import OUTCOMES, headline_of

__all__ = ["of_entry", "outcome_in_words", "role_of", "title_of"]

register = template.Library()


@register.filter
def outcome_in_words(entry: HistoryEntry) -> str:
    """Return how the diagnosis ended, as the page of its verdict says it."""
    return OUTCOMES[entry.outcome].words


@register.filter
def role_of(entry: HistoryEntry) -> str:
    """Return which badge says how the diagnosis ended."""
    return OUTCOMES[entry.outcome].role


@register.filter
def title_of(entry: HistoryEntry) -> str:
    """Return what an entry is called: its failure, else the message that nobody knows."""
    if entry.title or not entry.names_a_failure:
        return entry.title or OUTCOMES[entry.outcome].words
    return headline_of(entry.summary).message


@register.filter
def of_entry(recurrences: Mapping[str, Recurrence], entry: HistoryEntry) -> Recurrence | None:
    """Return the recurrence that an entry is, if it is one."""
    return recurrences.get(entry.pk)
