"""Where django-allauth meets this site: its mail, its rate limits, its secrets."""

from __future__ import annotations

import base64
import hashlib
import logging
import secrets
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailConfirmation
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from denpex.accounts.models import User
from denpex.mail import outbox
from diagnosis import visitors

__all__ = ["AccountAdapter", "SecondFactorAdapter"]

logger = logging.getLogger(__name__)


class AccountAdapter(DefaultAccountAdapter):
    """Sends mail through the outbox, and keeps no address of a visitor in the clear."""

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Post the mail of this name; `templates/mail/` holds one for each that allauth sends."""
        account = context.get("user")
        if not isinstance(account, User):
            account = None
        name = template_prefix.rpartition("/")[2]
        outbox.post(name, email, {"email": email, **context}, account)

    def send_notification_mail(
        self,
        template_prefix: str,
        user: User,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        """Tell the owner of a change to the account."""
        facts = {"user": user, **(context or {})}
        super().send_notification_mail(template_prefix, user, facts, email)

    def send_confirmation_mail(
        self,
        request: HttpRequest,
        emailconfirmation: EmailConfirmation,
        signup: bool,  # noqa: FBT001 - allauth's own
    ) -> None:
        """Ask the owner of an address to verify it, or say that another account has done so."""
        address = emailconfirmation.email_address
        if address.can_set_verified():
            super().send_confirmation_mail(request, emailconfirmation, signup)
        else:
            self.send_mail("account_already_exists", address.email, {"user": address.user})

    def get_email_confirmation_url(
        self,
        request: HttpRequest,  # noqa: ARG002 - allauth's own
        emailconfirmation: EmailConfirmation,
    ) -> str:
        """Return the link that verifies an address, under the site's public address."""
        return _public("account_confirm_email", emailconfirmation.key)

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return the link that resets a password, under the site's public address."""
        uid, _, token = key.partition("-")
        return _public("account_reset_password_from_key", uid, token)

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return what a visitor is counted by: a digest that nobody can make tomorrow."""
        address = visitors.identify(request).address
        return visitors.subject("account pages", address, visitors.key_of(visitors.today()))


class SecondFactorAdapter(DefaultMFAAdapter):
    """Keeps the secrets of authenticator apps encrypted under the site's own key."""

    def build_totp_svg(self, url: str) -> str:
        """Return the QR code as an element of a page: without the head of an XML file."""
        file: str = super().build_totp_svg(url)
        return file.partition("?>")[2]

    def encrypt(self, text: str) -> str:
        """Return `text` as it is stored."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return what `encrypt` was given, or a secret nobody has where the site's key changed."""
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            logger.warning("second_factor_unreadable")
            return base64.b32encode(secrets.token_bytes(20)).decode()


def _public(name: str, *parts: str) -> str:
    return f"{settings.DENPEX_ORIGIN}{reverse(name, args=parts)}"


def _cipher() -> Fernet:
    key = hashlib.sha256(f"denpex.second-factor\0{settings.SECRET_KEY}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))
