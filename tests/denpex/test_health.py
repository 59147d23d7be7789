"""Probes."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from encyclopedia.models import Failure


@pytest.fixture
def loaded(db: None) -> None:
    from django.utils import timezone

    today = timezone.now()
    Failure.objects.create(slug="one", title="One", reviewed=today.date(), changed_at=today)


def test_a_process_that_answers_is_alive(client: Client) -> None:
    """No database is asked: pytest-django would refuse."""
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert response["Cache-Control"] == "no-store"


def test_a_site_with_everything_is_ready(client: Client, loaded: None) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ok",
        "database": "ok",
        "redis": "ok",
        "catalogue": "ok",
    }
    assert response["Cache-Control"] == "no-store"


def test_a_site_without_failures_is_not_ready(client: Client, db: None) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["catalogue"] == "empty: run manage.py load_failures"


def test_a_site_without_redis_is_not_ready(
    client: Client, loaded: None, settings: Settings
) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["redis"] == "unreachable"


def test_a_site_without_its_database_is_not_ready(client: Client, loaded: None) -> None:
    def fail(*_arguments: object) -> None:
        raise OperationalError("gone")

    with connection.execute_wrapper(fail):
        response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["database"] == response.json()["catalogue"] == "unreachable"
