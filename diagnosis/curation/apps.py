"""Curation: what the catalogue's curators work through."""

from __future__ import annotations

from django.apps import AppConfig


class CurationConfig(AppConfig):
    """Two queues in the admin: failures that no signature knows, and verdicts said to be wrong."""

    name = "diagnosis.curation"
    label = "curation"
