from __future__ import annotations

import json
from http import HTTPStatus

import jsonschema
import pytest
from django.test import Client

from diagnosis.engine.verdict import SCHEMA_FILE
from tests.diagnosis.conftest import Answered, MakeJob, case_log

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def test_it_works(client: Client, answered: Answered) -> None:
    job = answered(case_log("lab-sigkill-torchrun8"))

    response = client.get(f"/d/{job.pk}.json")

    assert response["Content-Type"] == "application/json"
    jsonschema.validate(response.json(), json.loads(SCHEMA_FILE.read_text()))
    assert response.json()["primary"]["rank"] == 6


def test_sample(client: Client) -> None:
    assert client.get("/d/sample-killed-rank.json").json()["primary"]["rank"] == 6


def test_queued_job_gives_its_place(client: Client, make_job: MakeJob) -> None:
    response = client.get(f"/d/{make_job().pk}.json")

    assert response.status_code == HTTPStatus.ACCEPTED
    assert response.json() == {"state": "queued", "place_in_line": 1}


def test_failed_job_gives_its_reason(client: Client, make_job: MakeJob) -> None:
    job = make_job(state="failed", failure_reason="log_lost")

    response = client.get(f"/d/{job.pk}.json")

    assert response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR
    assert response.json() == {"state": "failed", "reason": "log_lost", "refunded": True}


def test_unknown_id(client: Client) -> None:
    response = client.get("/d/nothing.json")

    assert response.status_code == HTTPStatus.NOT_FOUND
    assert response["Cache-Control"] == "private, no-store"
