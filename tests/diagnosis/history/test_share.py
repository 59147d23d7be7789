from __future__ import annotations

import pytest
from django.test import Client

from denpex.accounts.models import User
from tests.diagnosis.history.conftest import DISK_FULL, Diagnosed, numbered

pytestmark = pytest.mark.django_db


def test_it_works(as_alice: Client, alice: User, client: Client, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice)

    response = as_alice.post(f"/account/history/{entry.pk}/share/")
    entry.refresh_from_db()
    path = f"/d/{entry.share_key}/"

    assert response["Location"] == f"/d/{entry.pk}/#history"
    assert path in as_alice.get(f"/d/{entry.pk}/").text
    shared = client.get(path)
    assert shared.status_code == 200
    assert "Somebody shares this verdict with you" in shared.text
    assert shared["X-Robots-Tag"] == "noindex, nofollow"
    assert shared["Cache-Control"] == "private, no-store"
    assert 'content="noindex"' in shared.text
    assert client.get(f"/d/{entry.share_key}.json").text == entry.verdict
    assert "unexpected pos" in client.get(f"/d/{entry.share_key}/log/1.txt").text


def test_it_says_nothing_of_the_account(
    as_alice: Client, as_bob: Client, alice: User, client: Client, diagnosed: Diagnosed
) -> None:
    diagnosed(alice, numbered(DISK_FULL, 1), project="wombat")
    entry = diagnosed(
        alice,
        numbered(DISK_FULL, 2),
        project="wombat",
        note="numbat",
        asked_about="nccl-watchdog-timeout",
        share_key="s" * 26,
    )
    own = as_alice.get(f"/d/{entry.pk}/").text
    tells = ["wombat", "numbat", entry.pk, "nccl-watchdog-timeout", "2nd time", "Delete now"]
    assert all(word in own for word in tells)

    for browser in (client, as_bob, as_alice):
        page = browser.get(f"/d/{entry.share_key}/").text
        for word in (*tells, "alice", "history/", "csrfmiddlewaretoken", "feedback"):
            assert word not in page, word


def test_a_withdrawn_link_shows_nothing(
    as_alice: Client, alice: User, client: Client, diagnosed: Diagnosed
) -> None:
    entry = diagnosed(alice, share_key="s" * 26)

    as_alice.post(f"/account/history/{entry.pk}/withdraw/")

    for path in ("/d/{}/", "/d/{}.json", "/d/{}/log/1.txt"):
        for browser in (client, as_alice):
            seen = browser.get(path.format("s" * 26))
            assert seen.status_code == 404
            assert seen.content == browser.get(path.format("n" * 26)).content
    assert as_alice.get(f"/d/{entry.pk}/").status_code == 200


def test_sharing_again_makes_another_link_and_sharing_twice_does_not(
    as_alice: Client, alice: User, diagnosed: Diagnosed
) -> None:
    entry = diagnosed(alice)
    keys = []
    for action in ("share", "share", "withdraw", "share"):
        as_alice.post(f"/account/history/{entry.pk}/{action}/")
        entry.refresh_from_db()
        keys.append(entry.share_key)

    assert keys[0] == keys[1]
    assert keys[2] is None
    assert keys[3] not in (None, keys[0])
    assert len(keys[3] or "") == 26


@pytest.mark.parametrize("path", ["/d/{}/delete/", "/d/{}/feedback/"])
def test_who_has_the_link_changes_nothing(
    as_bob: Client, client: Client, alice: User, diagnosed: Diagnosed, path: str
) -> None:
    entry = diagnosed(alice, share_key="s" * 26)

    for browser in (client, as_bob):
        form = {"suggested": "x", "words": "y"}
        assert browser.post(path.format(entry.share_key), form).status_code == 404
    entry.refresh_from_db()


def test_a_deleted_entry_is_shared_no_longer(
    as_alice: Client, alice: User, client: Client, diagnosed: Diagnosed
) -> None:
    entry = diagnosed(alice, share_key="s" * 26)

    as_alice.post(f"/account/history/{entry.pk}/delete/")

    assert client.get(f"/d/{'s' * 26}/").status_code == 404
