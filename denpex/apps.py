"""The project itself as an app: it holds the system checks."""

from __future__ import annotations

from django.apps import AppConfig


class DenpexConfig(AppConfig):
    """Registers the checks of the settings."""

    name = "denpex"

    def ready(self) -> None:
        """Import the checks, which register themselves."""
        from denpex import checks  # noqa: F401
