from __future__ import annotations

from pathlib import Path

import allauth
import pytest
from django.test import override_settings

from denpex.mail.letter import write

OURS = Path(__file__).parents[3] / "templates" / "mail"
# What this site never sends: codes instead of links, security keys, an address that is replaced.
NOT_SENT = {
    "email_confirm",
    "login_code",
    "password_reset_code",
    "webauthn_added",
    "webauthn_removed",
}
CONTEXT = {
    "email": "alice@example.org",
    "activate_url": "https://denpex.example/account/confirm-email/KEY/",
    "password_reset_url": "https://denpex.example/account/password/reset/key/1-KEY/",
    "from_email": "old@example.org",
    "to_email": "new@example.org",
    "deleted_email": "old@example.org",
    "domain": "lab.example",
    "link": "https://denpex.example/account/evaluation/verify/KEY/",
}
EVALUATION_MAILS = sorted(path.stem for path in OURS.glob("evaluation_*.txt"))


def names_of_allauth() -> list[str]:
    templates = Path(allauth.__file__).parent / "templates"
    files = [
        *templates.glob("account/email/*_subject.txt"),
        *templates.glob("mfa/email/*_subject.txt"),
    ]
    return sorted(file.name.removesuffix("_subject.txt") for file in files)


@pytest.mark.parametrize(
    "name", [name for name in names_of_allauth() if name not in NOT_SENT] + EVALUATION_MAILS
)
@override_settings(DENPEX_ORIGIN="https://denpex.example")
def test_each_mail_of_an_account_is_text_and_html(name: str) -> None:
    letter = write(name, CONTEXT)

    assert "Denpex" in letter.subject
    assert "\n" not in letter.subject
    for paragraph in letter.text.strip().split("\n\n"):
        shown = paragraph.replace("'", "&#x27;")
        assert shown in letter.html
    assert 'href="https://denpex.example/account/' in letter.html
    assert "{{" not in letter.text


def test_every_mail_of_ours_is_sent_by_somebody() -> None:
    """A template that allauth no longer asks for is one to delete, or a mail of ours."""
    ours = {path.stem for path in OURS.glob("*.txt")}

    assert not NOT_SENT & ours
    assert set(names_of_allauth()) - NOT_SENT <= ours


def test_what_people_typed_is_text_in_the_html() -> None:
    letter = write("email_confirmation", CONTEXT | {"email": '"<b>x</b>"@example.org'})

    assert '"<b>x</b>"@example.org' in letter.text
    assert "<b>x</b>" not in letter.html
