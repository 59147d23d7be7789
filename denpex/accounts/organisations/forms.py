"""What people type: a request for an evaluation, and a code."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from denpex.accounts.models import User
from denpex.accounts.organisations.domains import Kind, kind_of, registrable_domain
from denpex.accounts.organisations.models import EvaluationRequest
from denpex.accounts.organisations.requests import Application

__all__ = ["CodeForm", "RequestForm"]


class RequestForm(forms.ModelForm):  # type: ignore[type-arg]
    """Work e-mail, organisation and purpose."""

    class Meta:
        """What is asked, and how."""

        model = EvaluationRequest
        fields = ("address", "organisation_name", "purpose")
        labels: ClassVar = {"address": "Work e-mail", "purpose": "What you would use it for"}
        help_texts: ClassVar = {
            "address": "We send a link there. No address of a mail provider, please: it shows no"
            " workplace.",
            "purpose": "A sentence or two: how large your runs are, what goes wrong.",
        }
        widgets: ClassVar = {
            "address": forms.EmailInput(attrs={"autocomplete": "email"}),
            "organisation_name": forms.TextInput(attrs={"autocomplete": "organization"}),
            "purpose": forms.Textarea(attrs={"rows": 4}),
        }

    def clean_address(self) -> str:
        """Ask for an address at work where anybody can have one like this."""
        address = User.objects.normalize_email(self.cleaned_data["address"])
        if kind_of(address) is Kind.FREE_MAIL:
            domain = registrable_domain(address) or address.rpartition("@")[2]
            raise ValidationError(
                f"Everybody can have an address at {domain}, so that it shows no workplace. Use"
                " your address at work here; your account keeps the one that it has."
            )
        return address

    def application(self) -> Application:
        """Return what a valid form asks for."""
        return Application(**{name: self.cleaned_data[name] for name in self.Meta.fields})


class CodeForm(forms.Form):
    """A code as the mail has it, or as a person types it."""

    code = forms.CharField(
        label="Code",
        max_length=100,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}
        ),
        help_text="28 letters and digits, from the mail. Groups and case do not matter.",
    )

    def typed(self) -> str:
        """Return what was typed into a valid form."""
        code: Any = self.cleaned_data["code"]
        return str(code)
