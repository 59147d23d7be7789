"""The encyclopedia: the catalogue of failures as pages."""

from __future__ import annotations

from django.apps import AppConfig


class EncyclopediaConfig(AppConfig):
    """Failures, filled from their files by `manage.py load_failures`."""

    name = "encyclopedia"
