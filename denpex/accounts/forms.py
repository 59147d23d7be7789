"""The forms at the two ends of an account."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import SignupForm as AllauthSignupForm
from allauth.core import context, ratelimit
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from denpex.accounts.models import User

__all__ = ["DeletionForm", "SignupForm"]


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


class DeletionForm(forms.Form):
    """Asks once more for the password, before an account is deleted."""

    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, request: HttpRequest, account: User) -> None:
        super().__init__(request.POST if request.method == "POST" else None)
        self._request = request
        self._account = account

    def clean_password(self) -> str:
        """Refuse a wrong password, and guessing."""
        password: str = self.cleaned_data["password"]
        if not ratelimit.consume(self._request, action="reauthenticate", user=self._account):
            raise ValidationError("That was tried too often. Wait a minute, and try again.")
        if not self._account.check_password(password):
            raise ValidationError("This is not the password of this account.")
        return password
