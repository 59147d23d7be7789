"""Nobody reaches the entry of another by its id: each address of the history is asked here."""

from __future__ import annotations

import pytest
from django.forms.models import model_to_dict
from django.test import Client
from django.urls import reverse

from denpex.accounts.models import User
from diagnosis.history import urls
from diagnosis.history.models import HistoryEntry
from tests.diagnosis.history.conftest import OUT_OF_MEMORY, Diagnosed

pytestmark = pytest.mark.django_db

NAMES = [str(pattern.name) for pattern in urls._entry_patterns]
FORM = {"project": "taken over", "note": "taken over", "suggested": "x", "words": "x"}


@pytest.fixture
def entry(alice: User, diagnosed: Diagnosed, small_catalogue) -> HistoryEntry:
    """Return an entry that could be described, read again, shared, withdrawn and deleted."""
    return diagnosed(alice, OUT_OF_MEMORY, small_catalogue, share_key="s" * 26)


def state() -> dict[str, object]:
    return model_to_dict(HistoryEntry.objects.get())


@pytest.mark.parametrize("name", [*NAMES, "delete-verdict", "feedback"])
def test_ids_of_others_change_nothing(as_bob: Client, entry: HistoryEntry, name: str) -> None:
    before = state()

    response = as_bob.post(reverse(name, args=[entry.pk]), FORM)
    never = as_bob.post(reverse(name, args=["a" * 26]), FORM)

    assert response.status_code == never.status_code == 404
    assert response.content == never.content
    assert state() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_visitor_is_asked_to_log_in(client: Client, entry: HistoryEntry, name: str) -> None:
    before = state()

    response = client.post(reverse(name, args=[entry.pk]), FORM)

    assert response["Location"].startswith("/account/login/")
    assert state() == before


@pytest.mark.parametrize("name", NAMES)
def test_links_change_nothing(as_alice: Client, entry: HistoryEntry, name: str) -> None:
    before = state()

    assert as_alice.get(reverse(name, args=[entry.pk])).status_code == 405
    assert state() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_form_needs_a_token(alice: User, entry: HistoryEntry, name: str) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    before = state()

    assert browser.post(reverse(name, args=[entry.pk]), FORM).status_code == 403
    assert state() == before


@pytest.mark.parametrize("path", ["/d/{}/", "/d/{}.json", "/d/{}/log/1.txt", "/d/{}/feedback/"])
def test_pages_of_others_are_as_if_they_never_were(
    as_bob: Client, client: Client, entry: HistoryEntry, path: str
) -> None:
    for browser in (as_bob, client):
        seen, never = browser.get(path.format(entry.pk)), browser.get(path.format("a" * 26))
        assert seen.status_code == never.status_code == 404
        assert seen.content == never.content


def test_lists_hold_ones_own_alone(as_bob: Client, client: Client, entry: HistoryEntry) -> None:
    HistoryEntry.objects.update(project="wombat", note="wombat")
    for path in ("/account/history/", "/account/"):
        page = as_bob.get(path).text
        for word in (entry.pk, "OutOfMemory", "wombat"):
            assert word not in page
        assert client.get(path)["Location"].startswith("/account/login/")


@pytest.mark.parametrize("name", ["export.json", "export.zip"])
def test_exports_hold_ones_own_alone(
    as_bob: Client, client: Client, entry: HistoryEntry, name: str
) -> None:
    path = f"/account/history/{name}"
    data = as_bob.post(path).getvalue()

    for word in (entry.pk, entry.pk[:8], "OutOfMemory", "alice"):
        assert word.encode() not in data
    assert client.post(path)["Location"].startswith("/account/login/")
    assert as_bob.get(path).status_code == 405
