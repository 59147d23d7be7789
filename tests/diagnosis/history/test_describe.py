from __future__ import annotations

import pytest
from django.test import Client

from denpex.accounts.models import User
from tests.diagnosis.history.conftest import Diagnosed

pytestmark = pytest.mark.django_db


def test_it_works(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice)

    response = as_alice.post(
        f"/account/history/{entry.pk}/describe/", {"project": "llama", "note": "again <b>\n</b>"}
    )
    page = as_alice.get(f"/d/{entry.pk}/").text

    assert response["Location"] == f"/d/{entry.pk}/#history"
    assert 'value="llama"' in page
    assert "again &lt;b&gt;" in page
    assert "Project and note are saved." in page


def test_both_can_be_emptied(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    entry = diagnosed(alice, project="llama", note="again")

    as_alice.post(f"/account/history/{entry.pk}/describe/", {"project": "", "note": ""})

    entry.refresh_from_db()
    assert (entry.project, entry.note) == ("", "")


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("project", "p" * 81, "Project is 81 characters; the limit is 80."),
        ("note", "n" * 2001, "Note is 2001 characters; the limit is 2000."),
        ("note", "a\x00b", "Null characters are not allowed"),
    ],
)
def test_what_is_too_long_is_told_and_not_lost(
    as_alice: Client, alice: User, diagnosed: Diagnosed, field: str, text: str, told: str
) -> None:
    entry = diagnosed(alice, project="llama", note="kept")
    form = {"project": "llama", "note": "kept", field: text}

    response = as_alice.post(f"/account/history/{entry.pk}/describe/", form)

    assert response.status_code == 400
    assert told in response.text
    assert text in response.text
    entry.refresh_from_db()
    assert (entry.project, entry.note) == ("llama", "kept")


def test_labels_in_use_are_offered(as_alice: Client, alice: User, diagnosed: Diagnosed) -> None:
    diagnosed(alice, project="llama")
    entry = diagnosed(alice, b"[rank0]: ZeroDivisionError: division by zero\n")

    assert '<option value="llama">' in as_alice.get(f"/d/{entry.pk}/").text
