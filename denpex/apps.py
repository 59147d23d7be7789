"""The project itself as an app, which holds the system checks; and the staff's admin."""

from __future__ import annotations

import importlib

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig

# What stands in the staff's admin: others' apps bring admins of their own, which show too much.
_ADMINS = (
    "denpex.accounts.admin",
    "denpex.accounts.organisations.admin",
    "diagnosis.curation.admin",
)


class DenpexConfig(AppConfig):
    """Registers the checks of the settings."""

    name = "denpex"

    def ready(self) -> None:
        """Import the checks, which register themselves."""
        from denpex import checks  # noqa: F401


class StaffConfig(SimpleAdminConfig):
    """Loads the admins of this project alone."""

    def ready(self) -> None:
        """Let them register themselves."""
        super().ready()
        for module in _ADMINS:
            importlib.import_module(module)
