"""Requests whose sender is known."""

from __future__ import annotations

from django.http import HttpRequest

from denpex.accounts.models import User

__all__ = ["AccountRequest"]


class AccountRequest(HttpRequest):
    """A request behind `login_required`: its user is surely a user."""

    user: User
