"""Settings that follow from the environment, read by a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

SHOW = """
import json
from denpex import settings
shown = {name: value for name, value in vars(settings).items() if name.isupper()}
print(json.dumps(shown, default=str))
"""


def settings_of(**variables: str) -> dict[str, Any]:
    shown = subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**os.environ, **variables},
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def database(address: str) -> dict[str, Any]:
    found: dict[str, Any] = settings_of(DATABASE_URL=address)["DATABASES"]["default"]
    return found


def test_what_the_address_asks_of_the_connection_is_asked() -> None:
    options = database("postgresql://denpex:x@db/denpex?sslmode=verify-full")["OPTIONS"]
    assert options["sslmode"] == "verify-full"
    assert options["pool"]["max_size"] == 8


def test_an_address_that_asks_nothing_gets_the_pool_alone() -> None:
    assert list(database("postgresql://denpex:x@db/denpex")["OPTIONS"]) == ["pool"]


def mail(address: str) -> dict[str, Any]:
    found = settings_of(DENPEX_MAIL_URL=address)
    return {name: value for name, value in found.items() if name.startswith("EMAIL_")}


def test_mail_stays_on_this_machine_where_no_server_is_named() -> None:
    assert mail("")["EMAIL_BACKEND"] == "denpex.mail.file_outbox.FileOutbox"


def test_mail_goes_to_the_server_that_is_named() -> None:
    assert mail("smtp://denpex:p%40ss@mail.example:2587") == {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_TIMEOUT": 8,
        "EMAIL_HOST": "mail.example",
        "EMAIL_PORT": 2587,
        "EMAIL_HOST_USER": "denpex",
        "EMAIL_HOST_PASSWORD": "p@ss",
        "EMAIL_USE_SSL": False,
        "EMAIL_USE_TLS": True,
    }


def test_mail_may_be_encrypted_from_the_first_byte() -> None:
    found = mail("smtps://mail.example")
    assert [found["EMAIL_PORT"], found["EMAIL_USE_SSL"], found["EMAIL_USE_TLS"]] == [
        465,
        True,
        False,
    ]


def test_cookies_are_strict_where_the_site_is_served_over_https() -> None:
    found = settings_of(DENPEX_HTTPS="1")
    for cookie in ("SESSION_COOKIE", "CSRF_COOKIE"):
        assert found[f"{cookie}_SECURE"]
        assert found[f"{cookie}_HTTPONLY"]
        assert found[f"{cookie}_SAMESITE"] == "Lax"
    assert found["PASSWORD_HASHERS"] == ["django.contrib.auth.hashers.Argon2PasswordHasher"]
