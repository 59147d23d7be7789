"""The curators' queues: who sees them, what stands in them, and how a row leaves them."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from django.db.models import F
from django.test import Client
from django.utils.html import escape

from denpex.accounts.models import User
from diagnosis import unknowns
from diagnosis.curation.models import ExcerptConsent, Feedback
from diagnosis.history.models import HistoryEntry
from diagnosis.models import UnknownFailure
from tests.conftest import MakeAccount
from tests.diagnosis.history.conftest import DISK_FULL, ODD, browser_of, diagnosed, numbered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

__all__ = ["diagnosed"]

UNKNOWNS = "/staff/diagnosis/unknownfailure/"
FEEDBACK = "/staff/curation/feedback/"
QUEUES = [UNKNOWNS, FEEDBACK]


@pytest.fixture
def alice(make_account: MakeAccount) -> User:
    return make_account("alice@example.org")


@pytest.fixture
def bob(make_account: MakeAccount) -> User:
    return make_account("bob@example.org")


@pytest.fixture
def curator(make_account: MakeAccount) -> Client:
    return browser_of(make_account("curator@example.org", is_staff=True))


def mark(browser: Client, queue: str, action: str, *keys: object) -> None:
    response = browser.post(queue + "?state=all", {"action": action, "_selected_action": keys})
    assert response.status_code == 302


def feedback(**fields: object) -> Feedback:
    return Feedback.objects.create(
        outcome="established", said="nccl", engine="f", suggested="a cable", words="odd", **fields
    )


@pytest.mark.parametrize("queue", [*QUEUES, "/staff/"])
def test_staff_alone_sees_it(curator: Client, alice: User, client: Client, queue: str) -> None:
    assert curator.get(queue).status_code == 200
    assert curator.get(queue)["Cache-Control"] == "private, no-store"
    assert browser_of(alice).get(queue, follow=True).status_code == 403
    assert client.get(queue, follow=True).redirect_chain[-1][0].startswith("/account/login/")


def test_unknowns_are_listed_by_count_with_their_accounts(
    curator: Client, alice: User, bob: User, diagnosed
) -> None:
    for account, number in ((alice, 1), (alice, 2), (bob, 3)):
        diagnosed(account, numbered(ODD, number))
    UnknownFailure.objects.create(fingerprint="f" * 64, count=9)

    page = curator.get(UNKNOWNS).text

    fingerprint = HistoryEntry.objects.first().fingerprint
    assert page.index("ffffffffffff") < page.index(fingerprint[:12])
    assert '<td class="field-count">3</td><td class="field-accounts">2</td>' in page
    assert '<td class="field-count">9</td><td class="field-accounts">0</td>' in page
    assert "quokka" not in page
    assert "example.org" not in page.replace("curator@example.org", "")


def test_excerpts_come_from_accounts_that_allow_them(
    curator: Client, alice: User, bob: User, diagnosed
) -> None:
    diagnosed(alice, ODD + b"alice was here\n")
    diagnosed(bob, ODD + b"bob was here\n")
    path = f"{UNKNOWNS}{HistoryEntry.objects.first().fingerprint}/change/"
    assert "the quokka is asleep" not in curator.get(path).text

    browser_of(alice).post("/account/excerpts/", {"allow": "yes"})
    page = curator.get(path).text
    assert "the quokka is asleep" in page
    assert "alice was here" in page
    assert "bob was here" not in page
    assert "alice@example.org" not in page

    browser_of(alice).post("/account/excerpts/", {})
    page = curator.get(path).text
    assert "quokka" not in page
    assert "no account that has it lets curators read excerpts" in page


def test_feedback_shows_an_excerpt_only_where_its_account_allows_it(
    curator: Client, alice: User, diagnosed
) -> None:
    entry = diagnosed(alice, DISK_FULL)
    form = {"suggested": "a cable", "words": "odd"}
    browser_of(alice).post(f"/d/{entry.pk}/feedback/", form)
    path = f"{FEEDBACK}{Feedback.objects.get().pk}/change/"
    proof = escape(json.loads(entry.verdict)["primary"]["evidence"][0]["text"].strip())

    page = curator.get(path).text
    assert "a cable" in page
    assert proof not in page
    assert "alice@example.org" not in page

    ExcerptConsent.objects.create(account=alice)
    assert proof in curator.get(path).text

    entry.delete()
    assert proof not in curator.get(path).text


def test_consent_is_off_by_default_and_shown_in_the_account(alice: User) -> None:
    browser = browser_of(alice)
    assert "Nobody reads your logs." in browser.get("/account/").text
    assert not ExcerptConsent.objects.exists()

    page = browser.post("/account/excerpts/", {"allow": "yes"}, follow=True).text

    assert "Curators may read masked excerpts of your logs." in page
    assert "may read a few masked lines of your logs" in page


def test_consent_is_ones_own(alice: User, bob: User, client: Client) -> None:
    browser_of(bob).post("/account/excerpts/", {"allow": "yes", "account": alice.pk})
    client.post("/account/excerpts/", {"allow": "yes"})

    assert [consent.account for consent in ExcerptConsent.objects.all()] == [bob]


def test_done_rows_leave_the_queue_and_can_come_back(curator: Client) -> None:
    row = feedback()
    assert "a cable" in curator.get(FEEDBACK).text

    mark(curator, FEEDBACK, "mark_done", row.pk)
    assert "a cable" not in curator.get(FEEDBACK).text
    assert "a cable" in curator.get(f"{FEEDBACK}?state=done").text
    assert "a cable" in curator.get(f"{FEEDBACK}?state=all").text

    mark(curator, FEEDBACK, "mark_open", row.pk)
    assert "a cable" in curator.get(FEEDBACK).text


def test_an_unknown_that_comes_again_is_open_again(curator: Client) -> None:
    verdict = {"outcome": "unrecognised", "primary": {"summary": "odd"}}
    unknowns.count(verdict)
    key = UnknownFailure.objects.get().pk

    mark(curator, UNKNOWNS, "mark_done", key)
    assert key[:12] not in curator.get(UNKNOWNS).text

    hour = dt.timedelta(hours=1)
    UnknownFailure.objects.update(last_seen=F("done_at") - 2 * hour, done_at=F("done_at") - hour)
    assert key[:12] not in curator.get(UNKNOWNS).text

    unknowns.count(verdict)
    assert key[:12] in curator.get(UNKNOWNS).text


def test_whole_pages_of_rows_can_be_marked(curator: Client) -> None:
    """A form of this site has room for 50 fields, and each chosen row is one."""
    rows = [feedback().pk for _ in range(25)]

    mark(curator, FEEDBACK, "mark_done", *rows)

    assert not Feedback.objects.filter(done_at=None).exists()


def test_no_tables_of_others_stand_beside_them(curator: Client) -> None:
    """Those of allauth would show secrets of second factors, and change addresses."""
    page = curator.get("/staff/").text

    for table in ("authenticator", "emailaddress", "group"):
        assert f"/{table}/" not in page
        assert curator.get(f"/staff/mfa/{table}/").status_code == 404


@pytest.mark.parametrize("path", ["add/", "{}/delete/"])
def test_nobody_adds_or_deletes_rows(curator: Client, path: str) -> None:
    row = feedback()

    assert curator.post(f"{FEEDBACK}{path.format(row.pk)}", {"post": "yes"}).status_code == 403
    assert Feedback.objects.count() == 1


def test_rows_cannot_be_rewritten(curator: Client) -> None:
    row = feedback()

    response = curator.post(f"{FEEDBACK}{row.pk}/change/", {"words": "something else"})

    assert response.status_code == 403
    row.refresh_from_db()
    assert row.words == "odd"
