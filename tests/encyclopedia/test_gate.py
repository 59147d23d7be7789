"""The full steps open with an account, and with nothing less."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from denpex.accounts.models import User
from encyclopedia import stored, sync
from encyclopedia.catalogue import load
from encyclopedia.gate import INVITATION
from tests.conftest import PASSWORD

pytestmark = pytest.mark.usefixtures("failures")

PAGE = "/failures/scratch-disk-full/"
FORMS = [PAGE, "/failures/scratch-disk-full.md", "/failures/scratch-disk-full.json"]


@pytest.fixture
def alice(client: Client) -> Client:
    """Return the client of somebody with an account."""
    client.force_login(User.objects.create_user("alice@example.com"))
    return client


def test_without_an_account_one_line_says_what_it_gives(client: Client) -> None:
    page = client.get(PAGE).content.decode()
    assert page.count(f"{INVITATION} Here it adds: the fix step by step; prevention") == 1
    assert 'href="/account/signup/?next=%2Ffailures%2Fscratch-disk-full%2F%23fix">' in page
    assert 'id="fix"' not in page
    assert 'id="prevent"' not in page
    assert 'href="#fix"' not in page


def test_cause_mechanism_and_the_fix_in_one_line_are_for_all(client: Client) -> None:
    page = client.get(PAGE).content.decode()
    assert "no free block left" in page
    assert "Each save writes a whole new file" in page
    assert "rm <span" in page
    assert "Alert at 90 %" in page


@pytest.mark.django_db
def test_no_page_of_the_catalogue_promises_what_it_lacks_or_skips_a_level(
    client: Client, alice: Client
) -> None:
    catalogue = load()
    sync.load_failures(catalogue)
    for failure in catalogue:
        page = f"/failures/{failure.slug}/"
        for text in (Client().get(page).text, alice.get(page).text):
            levels = [int(level) for level in re.findall(r"<h([1-6])\b", text)]
            assert all(after <= before + 1 for before, after in pairwise(levels)), page
            assert ("code for your stack" in text) == bool(failure.section("Code")), page
            roles = [name for name in ("On call", "Engineer", "Executive") if failure.section(name)]
            assert ("In your role" in text) == (len(roles) > 1), page
            for name in roles:
                assert f'id="{name.lower().replace(" ", "-")}"' in text, page
    assert "the code" not in client.get("/llms.txt").text.partition("\n## ")[0]


def test_a_page_without_gated_sections_invites_nobody(client: Client) -> None:
    from encyclopedia.models import Failure

    failure = Failure.objects.get(slug="scratch-disk-full")
    failure.sections = failure.sections[:2]
    failure.save()
    assert INVITATION not in client.get(PAGE).content.decode()


@pytest.mark.parametrize("address", FORMS)
def test_an_account_opens_all_of_a_page(alice: Client, address: str) -> None:
    text = alice.get(address).content.decode()
    assert "def" in text
    assert "keep_last" in text
    assert INVITATION not in text


def test_who_signs_up_from_a_page_lands_at_what_it_opened(client: Client, redis: object) -> None:
    way = re.search(r'href="(/account/signup/\?next=[^"]+)"', client.get(PAGE).text)
    assert way is not None
    form = client.get(way[1]).text
    back = re.search(r'name="next" value="([^"]+)"', form)
    assert back is not None
    fields = {"email": "alice@example.com", "password1": PASSWORD, "next": back[1]}

    response = client.post("/account/signup/", fields)
    page = client.get(response["Location"]).text

    assert response["Location"] == f"{PAGE}#fix"
    opened = page[page.index('id="fix"') :]
    assert "A link is on its way to alice@example.com." in opened
    assert "Open with your account on this page: the fix step by step" in opened
    assert "Log out" in page


def test_page_of_an_account_says_what_it_may_do(alice: Client) -> None:
    page = alice.get(PAGE).text
    assert "3 of 3 left today" in page
    assert "kept in your account for 30 days" in page
    assert "no account needed" not in page


@pytest.mark.parametrize("address", FORMS)
def test_the_page_of_an_account_is_kept_by_nobody(alice: Client, address: str) -> None:
    response = alice.get(address)
    assert response["Cache-Control"] == "private, no-store"
    assert "ETag" not in response
    compressed = alice.get(address, headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(compressed.content) == response.content


@pytest.mark.parametrize("address", FORMS)
def test_after_an_account_others_get_the_page_for_all(alice: Client, address: str) -> None:
    assert b"keep_last" in alice.get(address).content
    other = Client().get(address)
    assert b"keep_last" not in other.content
    assert other["Cache-Control"] == "public, max-age=300"
    assert b"keep_last" in alice.get(address).content


@pytest.mark.parametrize("address", FORMS)
def test_caches_are_told_that_cookies_decide(client: Client, address: str) -> None:
    assert client.get(address)["Vary"] == "Accept-Encoding, Cookie"


def test_a_session_that_ended_opens_nothing_and_sets_no_cookie(alice: Client) -> None:
    User.objects.all().delete()
    response = alice.get(PAGE)
    assert b"keep_last" not in response.content
    assert not response.cookies
    assert response["Cache-Control"] == "public, max-age=300"


def test_nobody_without_a_session_costs_a_look_up(
    client: Client,
    django_assert_num_queries: DjangoAssertNumQueries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Each second the store asks whether the catalogue has changed.
    monkeypatch.setattr(stored, "monotonic", lambda: 1000.0)
    client.get(PAGE)
    with django_assert_num_queries(0):
        client.get(PAGE)
