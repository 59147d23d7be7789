"""Mail that the site sends."""

from __future__ import annotations

from django.apps import AppConfig


class MailConfig(AppConfig):
    """The outbox, and what empties it."""

    name = "denpex.mail"
    label = "mail"
