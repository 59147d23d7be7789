"""Diagnosis: from a pasted log to its verdict."""

from __future__ import annotations

from django.apps import AppConfig

from diagnosis import log_context


class DiagnosisConfig(AppConfig):
    """Jobs, allowances, and the pages of a verdict."""

    name = "diagnosis"

    def ready(self) -> None:
        """Let log lines say which job they belong to, and give web processes the Celery app."""
        import denpex.celery  # noqa: F401

        log_context.install()
