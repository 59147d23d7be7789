"""A mail backend for one machine: each mail is a file that mail programs open.

`denpex mail` shows them. Files rather than Django's own `filebased` backend, whose logs no mail
program opens and which names them by time alone.
"""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

__all__ = ["FileOutbox"]


class FileOutbox(BaseEmailBackend):
    """Writes each mail to `mail/` below DENPEX_DATA, for its owner's eyes alone."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Write the mails, each by rename, so that no reader meets half of one."""
        folder = Path(settings.DENPEX_DATA) / "mail"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for message in email_messages:
            now = dt.datetime.now(tz=dt.UTC)
            path = folder / f"{now:%Y%m%d-%H%M%S-%f}-{secrets.token_hex(2)}.eml"
            unfinished = path.with_suffix(".unfinished")
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(message.message().as_bytes())
            unfinished.rename(path)
        return len(email_messages)
