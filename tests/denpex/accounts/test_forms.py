"""The forms of an account speak as the rest of the site does."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from tests.denpex.accounts.conftest import confirm_password, log_in, sign_up

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def labels(page: str) -> list[str]:
    return re.findall(r'<label for="id_[^>]*>([^<]*)</label>', page)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("login/", ["E-mail", "Password"]),
        ("signup/", ["E-mail", "Password"]),
        ("password/reset/", ["E-mail"]),
    ],
)
def test_fields_for_a_visitor_are_called_as_elsewhere(
    client: Client, address: str, found: list[str]
) -> None:
    assert labels(client.get(f"/account/{address}").text) == found


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("email/", ["E-mail"]),
        ("password/change/", ["Current password", "New password", "New password, again"]),
    ],
)
def test_fields_of_an_account_are_called_as_elsewhere(
    client: Client, address: str, found: list[str]
) -> None:
    sign_up(client)
    log_in(client)
    confirm_password(client)

    assert labels(client.get(f"/account/{address}").text) == found


@pytest.mark.parametrize(
    ("password", "is_taken"), [("kelp-77", False), ("12345678", False), ("kelp-778", True)]
)
def test_what_a_password_needs_is_one_line_that_is_true(
    client: Client, password: str, *, is_taken: bool
) -> None:
    page = client.get("/account/signup/").text
    assert page.count("At least 8 characters, not only digits;") == 1
    assert "<li>Your password" not in page

    assert (sign_up(client, password=password).status_code == 302) == is_taken
