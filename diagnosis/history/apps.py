"""History: what accounts keep of their diagnoses."""

from __future__ import annotations

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    """Verdicts with their masked logs, for as long as the account's tier keeps them."""

    name = "diagnosis.history"
    label = "history"
