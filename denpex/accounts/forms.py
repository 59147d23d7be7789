"""The forms of an account: those that django-allauth brings in this site's words, and our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.account import forms as allauth
from allauth.core import context, ratelimit
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from denpex.accounts.models import User

__all__ = [
    "AddEmailForm",
    "ChangePasswordForm",
    "DeletionForm",
    "LoginForm",
    "NewPasswordForm",
    "ResetPasswordForm",
    "SetPasswordForm",
    "SignupForm",
]

_LABELS: Mapping[str, str] = {
    "login": "E-mail",
    "email": "E-mail",
    "oldpassword": "Current password",
    "password1": "New password",
    "password2": "New password, again",
}
# What the validators of the settings ask for, in one line.
_HELP: Mapping[str, str] = {
    "password1": "At least 8 characters, not only digits; nothing common, and nothing like your"
    " e-mail address.",
}


class _InOurWords(forms.Form):
    """Names the fields of an allauth form as the rest of the site does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields.keys() & _LABELS:
            self.fields[name].label = _LABELS[name]
        for name in self.fields.keys() & _HELP:
            self.fields[name].help_text = _HELP[name]


class LoginForm(_InOurWords, allauth.LoginForm):
    """Asks for address and password."""


class AddEmailForm(_InOurWords, allauth.AddEmailForm):
    """Asks for a further address."""


class ChangePasswordForm(_InOurWords, allauth.ChangePasswordForm):
    """Asks for the password and a new one."""


class SetPasswordForm(_InOurWords, allauth.SetPasswordForm):
    """Asks for the first password of an account that has none."""


class ResetPasswordForm(_InOurWords, allauth.ResetPasswordForm):
    """Asks for the address that gets the link."""


class NewPasswordForm(_InOurWords, allauth.ResetPasswordKeyForm):
    """Asks for a new password, behind such a link."""


class SignupForm(_InOurWords, allauth.SignupForm):
    """Takes an address and a password; one address can be given a few times a day only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].label = "Password"

    def clean(self) -> dict[str, Any]:
        """Refuse to send an address more mail than its owner should bear."""
        cleaned: dict[str, Any] = super().clean() or {}
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
