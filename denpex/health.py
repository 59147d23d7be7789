"""Probes: whether the process is alive, and whether it can serve."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from encyclopedia.models import Failure

__all__ = ["healthz", "readyz"]

# A probe must answer before whoever asks gives up.
_TIMEOUT_SECONDS = 1.0


def healthz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """Say that this process answers; nothing else is asked."""
    return _uncached({"status": "ok"}, status=200)


def readyz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """Say whether database, Redis and catalogue are there: 200, or 503 with what is missing."""
    results = {name: probe() for name, probe in _PROBES.items()}
    ready = all(result == "ok" for result in results.values())
    body = {"status": "ok" if ready else "unavailable", **results}
    return _uncached(body, status=200 if ready else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def _redis() -> str:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
    )
    try:
        client.ping()
    except redis.RedisError:
        return "unreachable"
    finally:
        client.close()
    return "ok"


def _catalogue() -> str:
    try:
        return "ok" if Failure.objects.exists() else "empty: run manage.py load_failures"
    except DatabaseError:
        return "unreachable"


_PROBES: Mapping[str, Callable[[], str]] = {
    "database": _database,
    "redis": _redis,
    "catalogue": _catalogue,
}


def _uncached(body: Mapping[str, str], status: int) -> JsonResponse:
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})
