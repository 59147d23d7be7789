"""Logging in by e-mail address and password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from denpex.accounts.models import User

__all__ = ["AddressBackend"]

# Who verified the address, and the oldest other account that gave it. Always so many
# passwords are hashed, so that the time tells nothing about who has an account.
_ACCOUNTS_TRIED = 2


class AddressBackend(ModelBackend):
    """Finds the account of an address and a password, also where several gave the address."""

    def authenticate(
        self,
        request: HttpRequest | None,  # noqa: ARG002
        username: str | None = None,
        password: str | None = None,
        email: str | None = None,
        **_kwargs: Any,
    ) -> User | None:
        """Return the account, or None; an account that was closed counts as none."""
        address = email or username
        if not address or not password:
            return None
        accounts = list(User.objects.with_address(address)[:_ACCOUNTS_TRIED])
        matching = [account for account in accounts if account.check_password(password)]
        for _ in range(_ACCOUNTS_TRIED - len(accounts)):
            User().set_password(password)
        return next(filter(self.user_can_authenticate, matching), None)
