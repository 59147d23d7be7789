"""“This was wrong”: what a visitor says of a verdict, as a curator gets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import forms

from denpex.accounts.models import User
from diagnosis.curation.models import Feedback
from diagnosis.discretion import quoting_nothing
from diagnosis.engine import LogFile
from diagnosis.engine.masking import mask
from diagnosis.history.models import HistoryEntry
from encyclopedia.models import Failure

__all__ = ["FeedbackForm", "keep"]

_MOST_WORDS = 2000
_ADDRESS = re.compile(r"/failures/([\w-]+)", re.ASCII)


class FeedbackForm(forms.Form):
    """Asks which failure it was, and for whatever else helps; one of both is needed."""

    suggested = forms.CharField(
        label="Which failure was it?",
        help_text="Its name, or the address of its page here, if it has one.",
        max_length=200,
        required=False,
    )
    words = forms.CharField(
        label="What did we miss?",
        max_length=_MOST_WORDS,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def clean(self) -> dict[str, Any]:
        """Refuse a form that says nothing."""
        cleaned = super().clean() or {}
        if not self.errors and not any(cleaned.values()):
            raise forms.ValidationError("Say which failure it was, or what we missed.")
        return cleaned


def keep(
    verdict: Mapping[str, Any], said: Mapping[str, str], owner: User | None, job_id: str
) -> Feedback:
    """Write down what was said of a verdict. What was typed is masked like a log."""
    primary = verdict["primary"] or {}
    entry = None
    if owner is not None:
        entry = HistoryEntry.objects.of(owner).filter(pk=job_id).first()
    return Feedback.objects.create(
        account=owner,
        entry=entry,
        outcome=verdict["outcome"],
        said=(primary.get("failure") or {}).get("slug", ""),
        engine=verdict["engine"]["fingerprint"],
        suggested=_known(said["suggested"]) or _masked(said["suggested"])[:200],
        words=_masked(said["words"])[:_MOST_WORDS],
    )


def _known(suggested: str) -> str:
    """Return the slug of the failure that is named by its slug, its title or its page's address."""
    address = _ADDRESS.search(suggested)
    name = address[1] if address else suggested.strip()
    found = Failure.objects.named(name) or Failure.objects.filter(title__iexact=name).first()
    return found.slug if found else ""


def _masked(text: str) -> str:
    with quoting_nothing():
        logs = mask([LogFile("words", text.encode("utf-8", "replace"))]).logs
    return bytes(logs[0].data).decode("utf-8", "replace")
