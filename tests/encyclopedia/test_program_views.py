"""What programs read: twins of a page, the catalogue, and what crawlers ask for."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from encyclopedia import sync
from encyclopedia.catalogue import Catalogue, load

pytestmark = pytest.mark.usefixtures("failures")

ORIGIN = "https://denpex.example"
PAGE = "/failures/scratch-disk-full/"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
ATOM = "{http://www.w3.org/2005/Atom}"
# Of the sections Fix, Prevent and Code of the page, which open with an account.
GATED = ("step-*.pt", "-mtime", "def keep_last", "/scratch/leftovers", "CronJob")
OPEN_TO_ALL = [
    PAGE,
    "/failures/scratch-disk-full.md",
    "/failures/scratch-disk-full.json",
    "/failures/catalogue.json",
    "/failures/feed.xml",
    "/failures/?q=keep_last",
    "/failures/suggestions.json?q=keep_last",
    "/failures/",
    "/errors/",
    "/llms.txt",
]


def validator(client: Client) -> jsonschema.Draft202012Validator:
    schema = json.loads(client.get("/failures/catalogue.schema.json").content)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


# Twins of a page


def test_the_markdown_twin_is_sent_as_markdown(client: Client) -> None:
    response = client.get("/failures/scratch-disk-full.md")
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert response.content.decode().startswith("# Scratch Disk Full During a Save\n")


def test_the_json_twin_holds_what_programs_ask_for(client: Client) -> None:
    response = client.get("/failures/scratch-disk-full.json")
    assert response["Content-Type"] == "application/json"
    body = response.json()
    assert body["schema"] == "denpex.failure/1"
    assert body["fix"]["verify"] == "df -h /scratch"
    assert body["leads_to"] == ["peer-closed"]
    assert body["looks_like"][0]["slug"] == "scratch-quota-exceeded"
    assert body["sections"][0]["heading"] == "Quick answer"
    assert body["sections_with_account"] == ["Fix", "Prevent", "Code"]
    assert body["messages"] == ["[rank3]: OSError: [Errno 28] No space left on device"]
    assert body["url"] == ORIGIN + PAGE
    validator(client).validate(body)


@pytest.mark.parametrize("suffix", [".md", ".json"])
def test_a_twin_counts_as_its_page(client: Client, suffix: str) -> None:
    response = client.get(f"/failures/scratch-disk-full{suffix}")
    assert response["Link"] == f'<{ORIGIN}{PAGE}>; rel="canonical"'


# The whole catalogue


def test_the_catalogue_keeps_to_its_schema(client: Client) -> None:
    sync.load_failures(load())
    body = client.get("/failures/catalogue.json").json()
    validator(client).validate(body)
    assert len(body["failures"]) == len(load())
    assert body["described_by"] == f"{ORIGIN}/failures/catalogue.schema.json"


@pytest.mark.parametrize(
    "change", [{"severity": "mild"}, {"slug": "Not A Slug"}, {"extra": 1}, {"title": None}]
)
def test_the_schema_refuses_what_breaks_it(client: Client, change: dict[str, object]) -> None:
    body = client.get("/failures/catalogue.json").json()
    body["failures"][0] |= change
    with pytest.raises(jsonschema.ValidationError):
        validator(client).validate(body)


def test_the_catalogue_takes_a_handful_of_queries(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(10):
        client.get("/failures/catalogue.json")


def test_language_models_get_an_index_by_category(client: Client) -> None:
    response = client.get("/llms.txt")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    text = response.content.decode()
    assert text.startswith("# Denpex\n\n> Why an ML training or serving run died")
    assert "## Storage\n\n- [Scratch Disk Full During a Save](" in text
    assert f"({ORIGIN}/failures/scratch-disk-full.md): The save failed because" in text
    assert "&" not in text


# Crawlers


def test_the_sitemap_dates_each_failure_by_its_content(client: Client) -> None:
    root = ET.fromstring(client.get("/sitemap.xml").content)
    dates = {
        url.findtext(f"{SITEMAP}loc"): url.findtext(f"{SITEMAP}lastmod")
        for url in root.iter(f"{SITEMAP}url")
    }
    assert dates[ORIGIN + PAGE] == "2026-11-20"
    assert dates[f"{ORIGIN}/"] is None
    assert len(dates) == 5 + 3


def test_every_address_of_the_sitemap_is_a_page_of_its_own(client: Client) -> None:
    root = ET.fromstring(client.get("/sitemap.xml").content)
    for location in root.iter(f"{SITEMAP}loc"):
        page = client.get(str(location.text).removeprefix(ORIGIN)).content.decode()
        assert f'<link rel="canonical" href="{location.text}">' in page
        assert "noindex" not in page


def test_robots_are_led_to_the_sitemap_and_away_from_what_is_nobody_elses(client: Client) -> None:
    text = client.get("/robots.txt").content.decode()
    assert f"Sitemap: {ORIGIN}/sitemap.xml" in text
    assert "Disallow: /account/\n" in text
    assert "Disallow: /\n" not in text


@pytest.mark.parametrize("form", ["/", ".json", ".md", "/log/", "/log/1/", "/log/1.txt", "/log/9/"])
@pytest.mark.parametrize("answer", ["sample-killed-rank", "nosuch"])
def test_robots_may_read_that_a_verdict_is_not_to_be_listed(
    client: Client, redis: object, answer: str, form: str
) -> None:
    """What robots.txt forbids to fetch can be listed all the same, by its address alone."""
    rules = RobotFileParser()
    rules.parse(client.get("/robots.txt").text.splitlines())
    address = f"/d/{answer}{form}"

    assert rules.can_fetch("*", f"{ORIGIN}{address}")
    assert not rules.can_fetch("*", f"{ORIGIN}/account/history/")
    response = client.get(address)
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert response["Cache-Control"] == "private, no-store"


def test_the_feed_lists_what_changed_last(client: Client) -> None:
    response = client.get("/failures/feed.xml")
    assert response["Content-Type"] == "application/atom+xml"
    root = ET.fromstring(response.content)
    entries = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}id") for entry in entries] == [
        f"{ORIGIN}/failures/peer-closed/",
        f"{ORIGIN}/failures/scratch-quota-exceeded/",
        f"{ORIGIN}/failures/scratch-disk-full/",
    ]
    assert entries[2].findtext(f"{ATOM}updated") == "2026-11-20T00:00:00+00:00"
    assert root.findtext(f"{ATOM}updated") == "2026-11-22T00:00:00+00:00"


# The gate


@pytest.mark.parametrize("address", OPEN_TO_ALL)
def test_the_full_steps_stand_in_nothing_that_is_open_to_all(client: Client, address: str) -> None:
    text = client.get(address).content.decode()
    found = [part for part in GATED if part in text.replace('value="keep_last"', "")]
    assert found == []


def test_gated_words_of_the_whole_catalogue_are_absent_from_every_document(client: Client) -> None:
    """Each gated section is marked, and its mark is looked for in all that is open to all."""
    catalogue = load()
    marked = Catalogue(
        {
            failure.slug: replace(
                failure,
                sections=tuple(
                    replace(s, markdown=f"{s.markdown}\n\nmarkedasgated")
                    if s.heading in {"Fix", "Prevent", "Code"}
                    else s
                    for s in failure.sections
                ),
            )
            for failure in catalogue
        }
    )
    sync.load_failures(marked)
    documents = ["/failures/catalogue.json", "/failures/feed.xml", "/llms.txt", "/errors/"]
    for slug in catalogue.failures:
        documents += [f"/failures/{slug}{suffix}" for suffix in ("/", ".md", ".json")]
    for address in documents:
        assert b"markedasgated" not in client.get(address).content, address
    found = client.get("/failures/?q=markedasgated").content
    assert b"No page has all of these words" in found or b"Nothing found" in found
