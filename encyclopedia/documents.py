"""A failure, and all of them, as JSON documents for programs.

`whole` documents hold what opens with an account, too; see `gate`.
"""

from __future__ import annotations

import json
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from encyclopedia.gate import gated_headings, readable_sections
from encyclopedia.models import Failure

__all__ = ["CATALOGUE_SCHEMA", "catalogue_as_json", "failure_as_json"]

CATALOGUE_SCHEMA = Path(__file__).with_name("catalogue.schema.json")
_FAILURE_VERSION = "denpex.failure/1"
_CATALOGUE_VERSION = "denpex.catalogue/1"


def failure_as_json(failure: Failure, *, whole: bool) -> str:
    """Return the content of a failure's page as a JSON document."""
    return _json({"schema": _FAILURE_VERSION, **_failure(failure, whole=whole)})


def catalogue_as_json() -> str:
    """Return all failures, as everyone may read them, as one JSON document."""
    failures = Failure.objects.with_links().order_by("slug")
    return _json(
        {
            "schema": _CATALOGUE_VERSION,
            "described_by": settings.DENPEX_ORIGIN + reverse("catalogue-schema"),
            "failures": [_failure(failure, whole=False) for failure in failures],
        }
    )


def _failure(failure: Failure, *, whole: bool) -> dict[str, object]:
    return {
        "slug": failure.slug,
        "url": settings.DENPEX_ORIGIN + failure.get_absolute_url(),
        "title": failure.title,
        "category": failure.category,
        "severity": failure.severity,
        "role": failure.role,
        "kind_of": failure.kind_of.slug if failure.kind_of else None,
        "message": failure.message,
        "messages": failure.wordings,
        "codes": [code.label for code in failure.codes.all()],
        "summary": failure.summary,
        "tags": failure.tags,
        "systems": failure.systems,
        "fix": failure.fix,
        "facts": failure.facts,
        "follows": sorted(each.slug for each in failure.follows.all()),
        "leads_to": sorted(each.slug for each in failure.leads_to.all()),
        "looks_like": [
            {"slug": each.other.slug, "tell_apart": each.tell_apart}
            for each in failure.look_alikes.all()
        ],
        "sections": [
            {"heading": section["heading"], "markdown": section["markdown"]}
            for section in readable_sections(failure, whole=whole)
        ],
        "sections_with_account": gated_headings(failure, whole=whole),
        "references": failure.references,
        "reviewed": failure.reviewed.isoformat(),
    }


def _json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
