"""The list of a history: what stands in it, its filters, its pages."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client

from denpex.accounts.models import User
from denpex.accounts.tiers import TIERS
from diagnosis.history.models import HistoryEntry
from tests.denpex.test_pages import Outline
from tests.diagnosis.history.conftest import DISK_FULL, ODD, OUT_OF_MEMORY, Diagnosed, numbered

pytestmark = pytest.mark.django_db

DAY = dt.datetime(2026, 11, 12, 23, 59, tzinfo=dt.UTC)


def listed(browser: Client, query: str = "") -> list[str]:
    """Return the ids in the list, in their order."""
    page = browser.get(f"/account/history/{query}").text
    known = HistoryEntry.objects.values_list("pk", flat=True)
    return sorted((key for key in known if f"/d/{key}/" in page), key=page.index)


def test_it_works(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    entries = [
        diagnosed(alice, log, created_at=DAY + dt.timedelta(days=n))
        for n, log in enumerate((DISK_FULL, ODD))
    ]

    response = as_alice.get("/account/history/")

    assert listed(as_alice) == [entries[1].pk, entries[0].pk]
    assert "2 verdicts" in response.text
    assert "Disk Full" in response.text
    assert '<span class="badge badge--cause">Cause established</span>' in response.text
    assert '<span class="badge badge--symptom">Unrecognised</span>' in response.text
    assert "No failure of the catalogue" not in response.text
    assert "12 November 2026, 23:59 UTC" in response.text
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"] == "noindex, nofollow"


def test_an_empty_history_says_how_it_fills(as_alice: Client) -> None:
    page = as_alice.get("/account/history/").text

    assert "Nothing here yet" in page
    assert "kept here for 365 days" in page
    assert "Filter" not in page


def test_it_filters_by_failure(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    known, unknown = diagnosed(alice), diagnosed(alice, ODD)

    assert listed(as_alice, f"?failure={known.failure}") == [known.pk]
    assert listed(as_alice, f"?failure=unknown-{unknown.fingerprint}") == [unknown.pk]


def test_it_filters_by_category(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    diagnosed(alice)
    memory = diagnosed(alice, OUT_OF_MEMORY)

    assert listed(as_alice, "?category=memory") == [memory.pk]


def test_it_filters_by_project(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice, project="llama & friends")
    diagnosed(alice, ODD, project="other")

    assert listed(as_alice, "?project=llama+%26+friends") == [entry.pk]
    page = as_alice.get("/account/history/?project=other").text
    assert '<option value="other" selected>' in page


def test_it_filters_by_days_with_both_ends(
    as_alice: Client, alice: User, diagnosed: Diagnosed
) -> None:
    before, on, after = (
        diagnosed(alice, numbered(DISK_FULL, n), created_at=DAY + dt.timedelta(days=n))
        for n in (-1, 0, 1)
    )

    assert listed(as_alice, "?since=2026-11-12&until=2026-11-12") == [on.pk]
    assert listed(as_alice, "?since=2026-11-12") == [after.pk, on.pk]
    assert listed(as_alice, "?until=2026-11-12") == [on.pk, before.pk]
    assert len(listed(as_alice, "?until=9999-12-31")) == 3


def test_filters_add_up(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    diagnosed(alice, project="a")
    diagnosed(alice, ODD, project="b")

    page = as_alice.get("/account/history/?category=storage&project=b").text

    assert "0 verdicts" in page
    assert "Nothing of your history is like that." in page


@pytest.mark.parametrize("query", ["?since=yesterday", "?until=2026-13-40"])
def test_a_day_that_is_none_is_told_at_its_field(
    as_alice: Client, alice: User, diagnosed: Diagnosed, query: str
) -> None:
    diagnosed(alice)
    page = as_alice.get(f"/account/history/{query}").text

    assert "Enter a valid date." in page
    assert "1 verdict" in page


@pytest.mark.parametrize(
    "query", ["?failure=%00", "?project=%00", "?category=none", "?page=x", "?page=99", "?failure=a"]
)
def test_odd_addresses_are_answered(
    as_alice: Client, alice: User, diagnosed: Diagnosed, query: str
) -> None:
    diagnosed(alice)

    assert as_alice.get(f"/account/history/{query}").status_code == 200


def test_pages_keep_the_filter(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice, project="long")
    columns = {
        field.attname: getattr(entry, field.attname) for field in HistoryEntry._meta.concrete_fields
    }
    HistoryEntry.objects.bulk_create(
        HistoryEntry(**{**columns, "id": f"{n:026}"}) for n in range(30)
    )

    first = as_alice.get("/account/history/?project=long").text
    second = as_alice.get("/account/history/?project=long&page=2").text

    assert "31 verdicts, page 1 of 2" in first
    assert 'href="?project=long&amp;page=2"' in first
    assert 'href="?project=long&amp;page=1"' in second
    assert len(listed(as_alice)) == 25
    assert len(listed(as_alice, "?page=2")) == 6


def test_a_recurrence_is_told_in_the_list(
    as_alice: Client, alice: User, diagnosed: Diagnosed
) -> None:
    for number in range(2):
        diagnosed(alice, numbered(DISK_FULL, number), created_at=DAY, host="host-2")

    page = as_alice.get("/account/history/").text

    assert "the 2nd time since 12 November 2026, on host-2 each time" in page


def test_a_tier_without_history_is_told_so(
    as_alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(TIERS["scale"]), "may", lambda *_: False)

    assert "Your tier keeps no history" in as_alice.get("/account/history/").text


def test_a_tier_without_history_keeps_none(
    alice: User, diagnosed: Diagnosed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(TIERS["scale"]), "may", lambda *_: False)

    with pytest.raises(HistoryEntry.DoesNotExist):
        diagnosed(alice)


def test_page_is_sound(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice, numbered(DISK_FULL, 1))
    diagnosed(alice, numbered(DISK_FULL, 2))
    for path in ("/account/history/?project=x", "/account/history/", f"/d/{entry.pk}/"):
        outline = Outline(as_alice.get(path).text)
        labelled = {label.get("for") for label in outline.all("label")}
        fields = [
            field
            for field in outline.all("input", "select", "textarea")
            if field.get("type") != "hidden"
        ]
        ids = [each["id"] for _, each in outline.elements if "id" in each]

        assert not outline.misnested
        assert len(list(outline.all("h1"))) == 1
        assert {field["id"] for field in fields} <= labelled
        assert len(ids) == len(set(ids))


def test_the_overview_shows_what_is_new_and_what_comes_back(
    as_alice: Client, alice: User, diagnosed: Diagnosed
) -> None:
    assert "None yet. What you diagnose" in as_alice.get("/account/").text
    for number in range(3):
        entry = diagnosed(alice, numbered(DISK_FULL, number), created_at=DAY, host="host-2")

    page = as_alice.get("/account/").text

    assert page.count(f"/d/{entry.pk}/") == 1
    assert "3 times since 12 November 2026, on host-2 each time" in page
    assert f'href="/account/history/?failure={entry.failure}"' in page
    assert not Outline(page).misnested
