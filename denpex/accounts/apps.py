"""Accounts: who may do what, and how much of it."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, known by their e-mail address."""

    name = "denpex.accounts"
    label = "accounts"
