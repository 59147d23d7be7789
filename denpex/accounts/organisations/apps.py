"""Organisations: the workplaces of accounts, their members and their evaluations."""

from __future__ import annotations

from django.apps import AppConfig


class OrganisationsConfig(AppConfig):
    """Workplaces, known by the domain of their e-mail addresses."""

    name = "denpex.accounts.organisations"
    label = "organisations"

    def ready(self) -> None:
        """Hear of addresses that leave an account."""
        from denpex.accounts.organisations import memberships  # noqa: F401
