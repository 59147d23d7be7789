"""The staff's admin: who gets in, and what it leaves behind."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from denpex.accounts.models import User
from denpex.staff import site
from tests.conftest import MakeAccount
from tests.denpex.test_pages import Outline

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

TABLES = [
    f"/staff/{model._meta.app_label}/{model._meta.model_name}/"
    for model in sorted(site._registry, key=lambda model: model.__name__)
]


@pytest.fixture
def staff(make_account: MakeAccount) -> User:
    return make_account("sam@example.net", verified=True, is_staff=True)


@pytest.fixture
def as_staff(client: Client, staff: User) -> Client:
    client.force_login(staff)
    return client


def test_tables_are_those_of_this_project_alone() -> None:
    """Those of others would show secrets of second factors, and change addresses."""
    assert {model.__name__ for model in site._registry} == {
        *("User", "Grant", "Organisation", "Membership"),
        *("EvaluationCode", "EvaluationRequest", "AuditEntry"),
        *("UnknownFailure", "Feedback"),
    }


@pytest.mark.parametrize("path", ["/staff/", *TABLES])
def test_staff_get_in(as_staff: Client, path: str) -> None:
    answer = as_staff.get(path)

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize("path", ["/staff/", "/staff/login/", *TABLES])
def test_visitors_are_asked_to_log_in_as_everywhere(client: Client, path: str) -> None:
    answer = client.get(path, follow=True)

    assert answer.redirect_chain[-1][0].startswith("/account/login/?next=")
    assert "<h1>Log in</h1>" in answer.content.decode()


@pytest.mark.parametrize("path", ["/staff/", *TABLES])
def test_others_stay_out(client: Client, make_account: MakeAccount, path: str) -> None:
    client.force_login(make_account(verified=True))

    assert client.get(path, follow=True).status_code == 403


def test_nothing_can_be_deleted(as_staff: Client, staff: User) -> None:
    for path in TABLES:
        page = as_staff.get(path).content.decode()
        assert "delete_selected" not in page
    assert as_staff.post(f"/staff/accounts/user/{staff.pk}/delete/").status_code == 403


def test_logging_out_and_passwords_are_the_sites_own(as_staff: Client) -> None:
    assert as_staff.post("/staff/logout/")["Location"] == "/account/logout/"
    assert as_staff.get("/staff/password_change/")["Location"] == "/account/password/change/"


def test_own_record_of_the_admin_stays_empty(as_staff: Client, make_account: MakeAccount) -> None:
    """It would keep addresses of accounts that are gone."""
    account = make_account("alice@example.org")
    path = f"/staff/accounts/user/{account.pk}/change/"
    as_staff.post(path, hidden_fields(as_staff, path))

    account.refresh_from_db()
    assert not account.is_active
    assert not LogEntry.objects.exists()


def hidden_fields(client: Client, path: str) -> dict[str, str]:
    """Return what the form of a page brings back without being seen."""
    fields = Outline(client.get(path).content.decode()).all("input")
    return {
        str(field["name"]): field.get("value") or ""
        for field in fields
        if field.get("type") == "hidden" and field.get("name")
    }
