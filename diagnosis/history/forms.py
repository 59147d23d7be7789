"""What an owner writes to an entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from django import forms

from diagnosis.history.models import HistoryEntry

__all__ = ["DescribeForm"]

_TOO_LONG = "{} is %(show_value)d characters; the limit is %(limit_value)d."


class DescribeForm(forms.ModelForm):  # type: ignore[type-arg]
    """Takes the label of a project, and a note."""

    class Meta:  # noqa: D106
        model = HistoryEntry
        fields = ("project", "note")
        widgets: ClassVar = {"note": forms.Textarea(attrs={"rows": 3})}
        help_texts: ClassVar[Mapping[str, str]] = {
            "project": "A label to find it by, such as the run's or the model's name.",
            "note": "For you alone. A shared verdict does not show it.",
        }
        error_messages: ClassVar[Mapping[str, Mapping[str, str]]] = {
            "project": {"max_length": _TOO_LONG.format("Project")},
            "note": {"max_length": _TOO_LONG.format("Note")},
        }
