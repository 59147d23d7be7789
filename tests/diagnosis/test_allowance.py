from __future__ import annotations

import pytest
from django.test import Client

from denpex.accounts.models import Grant
from tests.conftest import MakeAccount

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


def test_it_says_what_an_account_may_send_and_how_long_it_is_kept(
    client: Client, make_account: MakeAccount, redis: object
) -> None:
    account = make_account()
    Grant.objects.create(account=account, tier="scale", why="a test")
    client.force_login(account)

    response = client.get("/diagnose/allowance/")

    assert "50 of 50 left today" in response.text
    assert 'data-limit="50"' in response.text
    assert "kept in your account for 365 days" in response.text


def test_nothing_left_is_said(client: Client, redis: object) -> None:
    for _ in range(3):
        client.post("/diagnose/", {"log": "RuntimeError: CUDA error"})

    assert "None of 3 left today" in client.get("/diagnose/allowance/").text
