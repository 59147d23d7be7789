"""System checks: wrong settings are found before a request finds them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from denpex import environment

PROJECT = Path(__file__).parent.parent.parent
PRODUCTION = {
    "DATABASE_URL": "postgresql://denpex@db/denpex",
    "REDIS_URL": "redis://redis/0",
    "DENPEX_SECRET_KEY": "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "DENPEX_ALLOWED_HOSTS": "denpex.example",
}


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a Python command with the variables of a deployment, and no others of ours."""
    ours = {*environment.VARIABLES, "DJANGO_SETTINGS_MODULE", "DJANGO_ALLOW_ASYNC_UNSAFE"}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        (sys.executable, *command),
        env=inherited | PRODUCTION | variables,
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )


def check(**variables: str) -> subprocess.CompletedProcess[str]:
    return run("manage.py", "check", "--deploy", "--fail-level", "WARNING", **variables)


def test_a_deployment_is_clean() -> None:
    result = check()
    assert result.returncode == 0, result.stderr
    assert result.stdout == "System check identified no issues (3 silenced).\n"


def test_wrong_settings_are_named_with_what_to_do() -> None:
    result = check(DENPEX_LOG_LIMIT_BYTES="10MB", TRUSTED_PROXIES="proxy", DATABASE_URL="")
    assert result.returncode == 1
    for words in (
        "(denpex.E001) DENPEX_LOG_LIMIT_BYTES: '10MB' is not a whole number above 0",
        "HINT: DENPEX_LOG_LIMIT_BYTES: the largest log after unpacking",
        "(denpex.E001) TRUSTED_PROXIES: 'proxy' does not appear",
        "(denpex.E003) DATABASE_URL is not set",
    ):
        assert words in result.stderr


def test_plain_http_is_a_warning_in_a_deployment(settings: Settings) -> None:
    found = run_checks(include_deployment_checks=True)
    assert "denpex.W001" in {message.id for message in found}
    assert "denpex.W001" not in {message.id for message in run_checks()}


def test_the_server_refuses_to_start_with_wrong_settings() -> None:
    result = run("-c", "import denpex.wsgi", REDIS_URL="")
    assert result.returncode == 1
    assert "(denpex.E004) REDIS_URL is not set" in result.stderr


def test_the_server_starts_with_right_settings() -> None:
    result = run("-c", "import denpex.wsgi")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", sorted(environment.VARIABLES))
def test_every_variable_is_documented(name: str) -> None:
    assert f"| `{name}` | " in (PROJECT / "docs" / "settings.md").read_text()


def test_no_other_variable_is_documented() -> None:
    text = (PROJECT / "docs" / "settings.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(environment.VARIABLES)
