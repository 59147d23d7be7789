from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_it_works(client: Client) -> None:
    response = client.get("/diagnose/allowance/")

    assert "3 of 3 left today" in response.text
    assert "<html" not in response.text
    assert response["Cache-Control"] == "private, no-store"


def test_it_gives_the_cookie_that_the_form_is_counted_by(client: Client, redis: object) -> None:
    client.get("/diagnose/allowance/")
    assert "denpex_visitor" in client.cookies

    client.post("/diagnose/", {"log": "RuntimeError: CUDA error"})

    assert "2 of 3 left today" in client.get("/diagnose/allowance/").text


def test_nothing_left_is_said(client: Client, redis: object) -> None:
    for _ in range(3):
        client.post("/diagnose/", {"log": "RuntimeError: CUDA error"})

    assert "None of 3 left today" in client.get("/diagnose/allowance/").text
