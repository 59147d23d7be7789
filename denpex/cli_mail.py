"""`denpex mail`: the mail that a site without a mail server has written to files."""

from __future__ import annotations

import email
import os
import sys
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import cast

__all__ = ["newest", "show"]

_PROJECT = Path(__file__).resolve().parent.parent
_LISTED = 20
_TIME = "%Y-%m-%d %H:%M"


def newest(variables: Mapping[str, str]) -> Sequence[Path]:
    """Return the files of the mail, the newest first."""
    data = _PROJECT / (variables.get("DENPEX_DATA") or ".denpex")
    return sorted((data / "mail").glob("*.eml"), reverse=True)


def show(number: int | None) -> int:
    """Print a list of the mail, or the text of one: 1 is the newest. Returns the exit status."""
    files = newest(os.environ)
    if number is None:
        _print_list(files)
        return 0
    if not 0 < number <= len(files):
        print(f"denpex: there is no mail {number}; there are {len(files)}", file=sys.stderr)
        return 2
    _print_mail(files[number - 1])
    return 0


def _print_list(files: Sequence[Path]) -> None:
    if not files:
        print("No mail yet.")
    for number, path in enumerate(files[:_LISTED], start=1):
        mail = _read(path)
        sent = parsedate_to_datetime(mail["Date"])
        print(f"{number:3}  {sent:{_TIME}}  {mail['To']}  {mail['Subject']}")


def _print_mail(path: Path) -> None:
    mail = _read(path)
    for name in ("From", "To", "Date", "Subject"):
        print(f"{name}: {mail[name]}")
    body = cast("EmailMessage", mail.get_body(("plain",)))
    print(f"\n{body.get_content().rstrip()}\n\nAs HTML, in a mail program or browser: {path}")


def _read(path: Path) -> EmailMessage:
    return email.message_from_bytes(path.read_bytes(), policy=default)
