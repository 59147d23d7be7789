"""Brings database, catalogue and static files up to date, all with one start of Django."""

from __future__ import annotations

import os
import sys

import django
import psycopg
import redis
from django.conf import settings
from django.core.management import CommandError, call_command

__all__ = ["main"]

ANSWER_SECONDS = 5


def main() -> int:
    """Check the settings and services, and prepare the site; returns the exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "denpex.settings")
    django.setup()
    try:
        call_command("check")
        _refuse_silent_services()
        call_command("migrate", interactive=False)
        call_command("collectstatic", interactive=False)
        call_command("load_failures")
    except CommandError as error:
        print(error, file=sys.stderr)
        return error.returncode
    return 0


def _refuse_silent_services() -> None:
    """Say plainly what does not answer, where Django's pool would only say that it waited."""
    try:
        url = settings.ENVIRONMENT.database_url
        psycopg.connect(url, connect_timeout=ANSWER_SECONDS).close()
    except psycopg.OperationalError as error:
        raise CommandError(f"PostgreSQL does not answer at DATABASE_URL: {error}") from None
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=ANSWER_SECONDS) as client:
            client.ping()
    except redis.RedisError as error:
        raise CommandError(f"Redis does not answer at REDIS_URL: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
