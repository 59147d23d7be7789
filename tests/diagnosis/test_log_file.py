from __future__ import annotations

from http import HTTPStatus

import pytest
from django.test import Client

from tests.diagnosis.conftest import Answered, case_log

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def test_it_works(client: Client, answered: Answered) -> None:
    job = answered(
        b"<script>alert(1)</script> from 203.0.113.8\n" + case_log("lab-sigkill-torchrun8")
    )

    response = client.get(f"/d/{job.pk}/log/1.txt")

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["Cache-Control"] == "private, no-store"
    assert response.text.startswith("<script>alert(1)</script> from <ip-1>\n")


def test_files_count_from_one(client: Client, answered: Answered) -> None:
    job = answered(b"first file\n" * 9, b"second file\n" * 9)

    assert client.get(f"/d/{job.pk}/log/2.txt").text.startswith("second")
    for number in (0, 3):
        missing = client.get(f"/d/{job.pk}/log/{number}.txt")
        assert missing.status_code == HTTPStatus.NOT_FOUND


def test_sample(client: Client) -> None:
    assert "pretrain" in client.get("/d/sample-killed-rank/log/1.txt").text


def test_unknown_id(client: Client) -> None:
    assert client.get("/d/nothing/log/1.txt").status_code == HTTPStatus.NOT_FOUND
