"""Failures that no signature knows: counted by fingerprint, so that a curator sees what recurs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from diagnosis.models import UnknownFailure

__all__ = ["count", "fingerprint"]

# What differs between two runs of one failure: numbers and addresses, quoted values, paths, and the
# placeholders of masking.
_VARIABLE = re.compile(
    r"<[a-z-]+-\d+>|'[^']*'|\"[^\"]*\"|0x[0-9a-f]+|[\w.~-]*(?:/[\w.~-]+)+|\d+", re.IGNORECASE
)


def fingerprint(verdict: Mapping[str, Any]) -> str:
    """Return a digest of what an unrecognised verdict names, equal for runs that die alike."""
    summary = verdict["primary"]["summary"] if verdict["primary"] else ""
    return hashlib.sha256(_VARIABLE.sub("#", summary).encode()).hexdigest()


def count(verdict: Mapping[str, Any]) -> None:
    """Count one more run that ended in this unrecognised failure."""
    row, created = UnknownFailure.objects.get_or_create(fingerprint=fingerprint(verdict))
    if not created:
        UnknownFailure.objects.filter(pk=row.pk).update(count=F("count") + 1, last_seen=Now())
