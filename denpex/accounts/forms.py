"""The form of a new account."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import SignupForm as AllauthSignupForm
from allauth.core import context, ratelimit
from django.core.exceptions import ValidationError

__all__ = ["SignupForm"]


class SignupForm(AllauthSignupForm):
    """Takes an address and a password; one address can be given a few times a day only."""

    def clean(self) -> dict[str, Any]:
        """Refuse to send an address more mail than its owner should bear."""
        cleaned: dict[str, Any] = super().clean()
        if not self.errors and not ratelimit.consume(
            context.request, action="signup_address", key=cleaned["email"]
        ):
            raise ValidationError(
                "This address was given too often today. Verify it by the mail that it got, or"
                " come back tomorrow."
            )
        return cleaned
