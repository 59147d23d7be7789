"""Brings database, catalogue and static files up to date, all with one start of Django."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import django
import psycopg
import redis
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import CommandError, call_command

__all__ = ["collect_static_files", "main"]

ANSWER_SECONDS = 5


def main() -> int:
    """Check the settings and services, and prepare the site; returns the exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "denpex.settings")
    django.setup()
    try:
        call_command("check")
        _refuse_silent_services()
        call_command("migrate", interactive=False)
        collect_static_files()
        call_command("load_failures")
    except CommandError as error:
        print(error, file=sys.stderr)
        return error.returncode
    return 0


def collect_static_files() -> None:
    """Collect static files, unless the last start did so with the very same ones.

    To hash and compress them takes longer than all the rest of a start.
    """
    note = Path(settings.STATIC_ROOT) / "collected-from"
    sources = _hash_of_sources()
    if note.exists() and note.read_text() == sources:
        return
    note.unlink(missing_ok=True)
    call_command("collectstatic", interactive=False)
    note.write_text(sources)


def _hash_of_sources() -> str:
    """Return what changes whenever `collectstatic` would write something else."""
    return hashlib.sha256("\n".join(_sources()).encode()).hexdigest()


def _sources() -> Iterator[str]:
    yield settings.STORAGES["staticfiles"]["BACKEND"]
    yield from (f"{name} {importlib.metadata.version(name)}" for name in ("django", "whitenoise"))
    for finder in get_finders():
        for name, storage in finder.list([]):
            path = Path(storage.path(name))
            status = path.stat()
            yield f"{name} {path} {status.st_size} {status.st_mtime_ns}"


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
