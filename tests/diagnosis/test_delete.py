from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client
from redis import Redis

from diagnosis.models import Job
from tests.diagnosis.conftest import Answered

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return Client(enforce_csrf_checks=True)


def test_it_works(client: Client, answered: Answered, redis: Redis) -> None:
    job = answered(b"RuntimeError: CUDA error: device-side assert triggered\n" * 9)

    response = client.post(f"/d/{job.pk}/delete/")

    assert response.status_code == HTTPStatus.SEE_OTHER
    assert "<h1>Deleted</h1>" in client.get(response["Location"]).text
    assert not redis.keys(f"*{job.pk}*")
    assert client.get(f"/d/{job.pk}/").status_code == HTTPStatus.NOT_FOUND


def test_form_of_another_site_deletes_nothing(client: Client, answered: Answered) -> None:
    job = answered(b"RuntimeError: CUDA error: device-side assert triggered\n" * 9)

    response = client.post(f"/d/{job.pk}/delete/", headers={"Sec-Fetch-Site": "cross-site"})

    assert response.status_code == HTTPStatus.FORBIDDEN
    assert Job.objects.exists()


def test_link_deletes_nothing(client: Client, answered: Answered) -> None:
    job = answered(b"RuntimeError: CUDA error: device-side assert triggered\n" * 9)

    response = client.get(f"/d/{job.pk}/delete/")

    assert response.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    assert "This address takes what a form sends, and nothing was sent." in response.text
    assert (response["Allow"], response["Cache-Control"]) == ("POST", "private, no-store")
    assert Job.objects.exists()


@pytest.mark.parametrize("job_id", ["nothing", "sample-killed-rank"])
def test_what_is_not_there_cannot_be_deleted(client: Client, job_id: str, redis: Redis) -> None:
    assert client.post(f"/d/{job_id}/delete/").status_code == HTTPStatus.NOT_FOUND
