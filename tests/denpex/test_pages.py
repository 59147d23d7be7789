"""What holds for every public page of the site."""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from denpex.accounts.tiers import ANONYMOUS, TIERS

PROJECT = Path(__file__).parent.parent.parent
TEMPLATES, STATIC = PROJECT / "templates", PROJECT / "static"
FAILURES = Path(__file__).parent.parent / "encyclopedia" / "failures"
VOID = {"br", "hr", "img", "input", "link", "meta"}

PAGES = [
    "/",
    "/failures/",
    "/failures/?category=storage",
    "/failures/?tag=disk&sort=title",
    "/errors/",
    "/accuracy/",
    "/privacy/",
    "/failures/?q=space",
    "/failures/?q=zzzz",
    "/failures/peer-closed/",
    "/failures/scratch-disk-full/",
    "/failures/scratch-disk-full/was-it/no/",
    "/failures/scratch-quota-exceeded/",
    "/style/",
]
MISSING = ["/no-such-page", "/failures/no-such/"]


@pytest.fixture(autouse=True)
def _failures(db: None) -> None:
    from encyclopedia import sync
    from encyclopedia.catalogue import load

    sync.load_failures(load(FAILURES))


class Outline(HTMLParser):
    """The elements of a page, as name and attributes, and whether they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.misnested: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.misnested += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.misnested.append(tag)

    def all(self, *tags: str) -> Iterator[dict[str, str | None]]:
        return (attributes for tag, attributes in self.elements if tag in tags)


@pytest.fixture(params=PAGES + MISSING)
def page(request: pytest.FixtureRequest, client: Client) -> str:
    response = client.get(request.param)
    assert response.status_code == (404 if request.param in MISSING else 200)
    return response.content.decode()


def test_a_page_has_one_main_heading(page: str) -> None:
    assert len(list(Outline(page).all("h1"))) == 1


def test_no_level_of_heading_is_skipped(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in Outline(page).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_page_says_its_language_and_its_landmarks(page: str) -> None:
    outline = Outline(page)
    assert [each["lang"] for each in outline.all("html")] == ["en"]
    assert len(list(outline.all("main"))) == 1
    assert len(list(outline.all("footer"))) == 1
    assert all(each.get("aria-label") or each.get("aria-labelledby") for each in outline.all("nav"))


def test_the_first_link_skips_to_the_content(page: str) -> None:
    outline = Outline(page)
    first = next(outline.all("a"))
    assert first["class"] == "skip-link"
    assert first["href"] == "#main"
    assert next(outline.all("main"))["id"] == "main"


def test_elements_are_closed_in_order(page: str) -> None:
    assert Outline(page).misnested == []


def test_no_id_stands_twice_and_every_reference_has_its_target(page: str) -> None:
    attributes = [attributes for _, attributes in Outline(page).elements]
    ids = [each["id"] for each in attributes if "id" in each]
    assert len(ids) == len(set(ids))
    for name in ("for", "aria-labelledby", "aria-describedby"):
        named = [word for each in attributes for word in (each.get(name) or "").split()]
        assert set(named) <= set(ids)
    targets = {str(each["href"])[1:] for each in attributes if str(each.get("href"))[:1] == "#"}
    assert targets <= set(ids)


def test_every_field_has_a_label(page: str) -> None:
    outline = Outline(page)
    labelled = {each.get("for") for each in outline.all("label")}
    fields = [each for each in outline.all("input", "textarea") if each.get("type") != "hidden"]
    assert fields
    assert {each.get("id") for each in fields} <= labelled


def test_nothing_is_inline_and_nothing_is_foreign(page: str) -> None:
    outline = Outline(page)
    assert not any(
        name.startswith("on") or name == "style" for _, a in outline.elements for name in a
    )
    assert not list(outline.all("style", "iframe"))
    for script in outline.all("script"):
        assert script.get("type") == "application/ld+json" or str(script["src"]).startswith(
            "/static/"
        )
    for each in outline.all("link"):
        if each["rel"] in {"stylesheet", "icon"}:
            assert str(each["href"]).startswith("/static/")


# Of a session that is no more, and what no session is called.
SESSION_COOKIES = (
    "a1" * 16,
    "",
    "x",
    "somebody",
    "A" * 32,
    "a" * 999,
    '"somebody\\000"',
    "\u00e4\u00f6",
)


@pytest.mark.parametrize(
    "address", [*PAGES, "/failures/peer-closed.md", "/failures/peer-closed.json"]
)
@pytest.mark.parametrize("cookie", SESSION_COOKIES)
def test_a_public_page_is_the_same_for_everyone(client: Client, address: str, cookie: str) -> None:
    """No cookie, no token, no number: a cache in front of the site may keep it."""
    first = client.get(address)
    asked = {"accept-language": "de", "user-agent": "another", "cookie": f"sessionid={cookie}"}
    second = client.get(address, headers=asked)
    assert first.content == second.content
    assert first["ETag"] == second["ETag"]
    for response in (first, second):
        assert not response.cookies
        assert response["Cache-Control"] == "public, max-age=300"
        assert response["Vary"] in {"Accept-Encoding", "Accept-Encoding, Cookie"}
        assert b"csrf" not in response.content.lower()


def test_every_page_has_a_title_of_its_own(client: Client) -> None:
    pages = [client.get(address).content.decode() for address in PAGES]
    titles = [re.findall(r"<title>([^<]+)</title>", page) for page in pages]
    assert all(len(each) == 1 for each in titles)
    assert len({each[0] for each in titles}) == len(PAGES)


def test_every_internal_link_leads_somewhere(client: Client) -> None:
    links = {
        str(each["href"]).partition("#")[0]
        for address in PAGES
        for each in Outline(client.get(address).content.decode()).all("a")
        if str(each.get("href"))[:1] == "/"
    }
    # Pages of other apps: the verdicts on samples, and accounts.
    others = {link for link in links if link.startswith(("/d/", "/account/"))}
    for link in links - others:
        assert client.get(link, follow=True).status_code == 200, link


def test_pages_for_machines_alone_stay_out_of_search_engines(client: Client) -> None:
    assert client.get("/style/")["X-Robots-Tag"] == "noindex"
    assert b'content="noindex"' in client.get("/failures/?q=space").content
    assert b"noindex" not in client.get("/failures/").content


def test_the_home_page_says_what_is_masked_and_where_the_encyclopedia_is(client: Client) -> None:
    page = client.get("/").content.decode()
    assert 'name="log"' in page
    assert "What is masked" in page
    assert '<a href="/failures/?category=storage">Storage <span class="count">2</span>' in page


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("/", "Diagnose"),
        ("/diagnose/", "Diagnose"),
        ("/failures/", "Failures"),
        ("/failures/scratch-disk-full/", "Failures"),
        ("/errors/", "Failures"),
        ("/account/login/", "Account"),
        ("/accuracy/", None),
        ("/privacy/", None),
    ],
)
def test_the_header_marks_where_the_page_belongs(
    client: Client, redis: object, address: str, here: str | None
) -> None:
    page = client.get(address).text
    header = page[page.index("<header") : page.index("</header>")]
    links = re.findall(r"<a href=\S+( aria-current=\S+)?>(\w+)<", header)

    assert [name for _current, name in links] == ["Diagnose", "Failures", "Account"]
    assert [name for current, name in links if current] == ([here] if here else [])


def test_public_page_takes_no_form(db: None) -> None:
    client = Client(enforce_csrf_checks=True)

    response = client.post("/")

    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD"
    assert "This page is only for reading" in response.text
    assert client.put("/failures/").status_code == 405


@pytest.mark.parametrize("address", ["/", "/failures/scratch-disk-full/"])
def test_pages_with_the_paste_form_lead_to_the_evaluation(client: Client, address: str) -> None:
    page = client.get(address).content.decode()

    assert "50 diagnoses a day for 14 days" in page
    assert 'href="/account/evaluation/"' in page


@pytest.mark.parametrize("address", ["/", "/failures/scratch-disk-full/"])
def test_a_page_for_everyone_says_how_long_is_kept_with_and_without_an_account(
    client: Client, address: str
) -> None:
    page = client.get(address).content.decode()

    assert "Without an account, log and verdict are gone after 24 hours;" in page
    assert "an account keeps them for 30 days or more" in page


# Privacy, and whom to ask


def test_every_page_leads_to_what_is_kept(client: Client) -> None:
    assert '<a href="/privacy/">Privacy</a>' in client.get("/failures/").text


def test_the_page_on_privacy_says_how_long_each_tier_keeps_a_log(client: Client) -> None:
    page = client.get("/privacy/").text
    assert "kept for 24 hours" in page
    for tier in TIERS.values():
        if tier is not ANONYMOUS:
            assert f"<li>{tier.keep_for.days} days: {tier.name}</li>" in page


def test_what_is_masked_is_said_alike_on_both_pages(client: Client) -> None:
    masked = (TEMPLATES / "_masked.html").read_text()
    for address in ("/", "/privacy/"):
        assert masked in client.get(address).text


def test_who_runs_the_site_is_named_where_it_is_set(client: Client, settings: Settings) -> None:
    settings.DENPEX_CONTACT = "mailto:ops@denpex.example"
    page = client.get("/privacy/").text
    assert '<a href="mailto:ops@denpex.example">ops@denpex.example</a>' in page


def test_security_text_names_the_contact_and_a_date_within_a_year(
    client: Client, settings: Settings
) -> None:
    settings.DENPEX_CONTACT = "mailto:ops@denpex.example"
    response = client.get("/.well-known/security.txt")
    fields = dict(line.split(": ", 1) for line in response.text.splitlines())
    ahead = dt.datetime.fromisoformat(fields["Expires"]) - dt.datetime.now(tz=dt.UTC)
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert fields["Contact"] == "mailto:ops@denpex.example"
    assert dt.timedelta(days=30) < ahead < dt.timedelta(days=365)


def test_without_a_contact_there_is_no_security_text(client: Client, settings: Settings) -> None:
    settings.DENPEX_CONTACT = ""
    assert client.get("/.well-known/security.txt").status_code == 404
    assert "has not left an address" in client.get("/privacy/").text


@pytest.mark.parametrize(
    ("address", "size"), [("/favicon.ico", 48), ("/apple-touch-icon.png", 180)]
)
def test_browsers_find_an_icon_where_they_look_for_one(
    client: Client, address: str, size: int
) -> None:
    found = client.get(address)["Location"]
    name = re.sub(r"\.[0-9a-f]{12}", "", found.rpartition("/")[2])
    picture = (STATIC / "img" / name).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (size, size)


def test_the_home_page_expects_less_of_unknown_logs(client: Client) -> None:
    assert "Expect less of a log that it never saw." in client.get("/").text
