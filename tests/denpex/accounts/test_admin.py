"""Accounts and grants in the staff's admin."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations.models import AuditEntry
from denpex.accounts.standing import tier_of
from tests.conftest import MakeAccount
from tests.denpex.test_staff import hidden_fields

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def staff(make_account: MakeAccount) -> User:
    return make_account("sam@example.net", is_staff=True)


@pytest.fixture
def as_staff(client: Client, staff: User) -> Client:
    client.force_login(staff)
    return client


def change(client: Client, account: User, **fields: str):
    path = f"/staff/accounts/user/{account.pk}/change/"
    return client.post(path, hidden_fields(client, path) | fields)


def grant(client: Client, account: User, **fields: object):
    now = timezone.now()
    typed = {
        "account": str(account.pk),
        "tier": "scale",
        "begins_at_0": f"{now:%Y-%m-%d}",
        "begins_at_1": "00:00:00",
        "why": "a contract",
    }
    return client.post("/staff/accounts/grant/add/", typed | fields)


def test_account_is_found_by_any_of_its_addresses(as_staff: Client, alice: User) -> None:
    page = as_staff.get("/staff/accounts/user/", {"q": "alice@"}).content.decode()

    assert "alice@example.org" in page
    assert "Account, e-mail not verified, 3 a day" in page


def test_page_of_an_account_says_what_is_left_and_shows_no_password(
    as_staff: Client, alice: User
) -> None:
    page = as_staff.get(f"/staff/accounts/user/{alice.pk}/change/").content.decode()

    assert "3 of 3, and 3 extra for a new account" in page
    assert "argon2" not in page
    assert f"/staff/accounts/grant/?account__id__exact={alice.pk}" in page
    assert f"/staff/organisations/membership/?account__id__exact={alice.pk}" in page


def test_staff_close_an_account_and_that_is_written_down(
    as_staff: Client, staff: User, alice: User
) -> None:
    browser = Client()
    browser.force_login(alice)
    change(as_staff, alice)

    alice.refresh_from_db()
    assert not alice.is_active
    assert browser.get("/account/").status_code == 302
    entry = AuditEntry.objects.get()
    assert [entry.event, entry.account_id, entry.staff_id, entry.detail] == [
        *("account_changed", alice.pk, staff.pk, "is_active: False"),
    ]


def test_staff_make_nobody_staff(as_staff: Client, alice: User) -> None:
    change(as_staff, alice, is_active="on", is_staff="on", is_superuser="on")

    alice.refresh_from_db()
    assert not alice.is_staff
    assert not alice.is_superuser


def test_staff_cannot_change_other_staff(as_staff: Client, make_account: MakeAccount) -> None:
    boss = make_account("boss@example.net", is_staff=True, is_superuser=True)

    assert change(as_staff, boss).status_code == 403
    boss.refresh_from_db()
    assert boss.is_active


def test_superuser_makes_staff(client: Client, make_account: MakeAccount, alice: User) -> None:
    client.force_login(make_account("boss@example.net", is_staff=True, is_superuser=True))
    change(client, alice, is_active="on", is_staff="on")

    alice.refresh_from_db()
    assert alice.is_staff


def test_staff_give_a_grant_with_a_limit_of_its_own(
    as_staff: Client, staff: User, alice: User
) -> None:
    answer = grant(as_staff, alice, diagnoses_a_day="400")

    assert answer.status_code == 302
    given = Grant.objects.get()
    assert [given.given_by, given.why] == [staff, "a contract"]
    assert [tier_of(alice).key, tier_of(alice).diagnoses_a_day] == ["scale", 400]
    entry = AuditEntry.objects.get()
    assert [entry.event, entry.staff_id] == ["grant_given", staff.pk]
    assert entry.detail == f"grant {given.pk}: scale, limit 400, end open"


def test_staff_take_a_grant_back_by_its_end(as_staff: Client, alice: User) -> None:
    grant(as_staff, alice)
    given = Grant.objects.get()
    now = timezone.now() - dt.timedelta(seconds=1)
    as_staff.post(
        f"/staff/accounts/grant/{given.pk}/change/",
        {"ends_at_0": f"{now:%Y-%m-%d}", "ends_at_1": f"{now:%H:%M:%S}", "tier": "account"},
    )

    given.refresh_from_db()
    assert given.tier == "scale"
    assert given.ends_at is not None
    assert tier_of(alice).key == "account"
    assert AuditEntry.objects.filter(event="grant_changed").count() == 1
