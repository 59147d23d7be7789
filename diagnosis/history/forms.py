"""What an owner writes to an entry."""

from __future__ import annotations

from django import forms

from diagnosis.history.models import HistoryEntry

__all__ = ["DescribeForm"]


class DescribeForm(forms.ModelForm):  # type: ignore[type-arg]
    """Takes the label of a project, and a note."""

    class Meta:  # noqa: D106
        model = HistoryEntry
        fields = ("project", "note")
