"""Probes: whether the process is alive, and whether it can serve."""

from __future__ import annotations

from collections.abc import Mapping

import redis
from django.conf import settings
from django.db import DatabaseError
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
    results = {**_database(), "redis": _redis()}
    ready = all(result == "ok" for result in results.values())
    body = {"status": "ok" if ready else "unavailable", **results}
    return _uncached(body, status=200 if ready else 503)


def _database() -> dict[str, str]:
    """Ask once for both, since a database that is away keeps each question waiting."""
    try:
        loaded = Failure.objects.exists()
    except DatabaseError:
        return {"database": "unreachable", "catalogue": "unreachable"}
    catalogue = "ok" if loaded else "empty: run manage.py load_failures"
    return {"database": "ok", "catalogue": catalogue}


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


def _uncached(body: Mapping[str, str], status: int) -> JsonResponse:
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})
