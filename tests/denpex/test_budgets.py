"""A page stays small: in bytes over the wire, in requests and in elements."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from denpex.accounts.models import User
from encyclopedia import sync
from encyclopedia.catalogue import FAILURES, load
from encyclopedia.models import Failure

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STATIC = Path(__file__).parent.parent.parent / "static"

PAGE_BYTES = 60_000
HTML_BYTES = 25_000
STYLE_BYTES = 12_000
SCRIPT_BYTES = 15_000
REQUESTS = 6
ELEMENTS = 800
HEAVIEST = 3


@dataclass
class Traffic:
    """What a page asked for, and how much of it came."""

    urls: list[str] = field(default_factory=list)
    received: float = 0


@pytest.fixture
def whole_catalogue(db: None) -> None:
    sync.load_failures(load(FAILURES))


def heaviest() -> list[str]:
    """Return the addresses of the pages with the most text."""
    texts = Failure.objects.values_list("slug", "sections")
    sizes = {slug: sum(len(section["html"]) for section in rows) for slug, rows in texts}
    return [f"/failures/{slug}/" for slug in sorted(sizes, key=lambda s: -sizes[s])[:HEAVIEST]]


@pytest.fixture
def uncached(browser: Browser, site: str) -> Iterator[tuple[Page, Traffic]]:
    """A page without any cache, and what it asks for."""
    context = browser.new_context(base_url=site)
    page = context.new_page()
    traffic = Traffic()
    network = context.new_cdp_session(page)

    def count(event: dict[str, Any]) -> None:
        traffic.received += event["encodedDataLength"]

    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    network.on("Network.loadingFinished", count)
    page.on("request", lambda request: traffic.urls.append(request.url))
    yield page, traffic
    context.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("with_account", [False, True])
def test_the_heaviest_pages_keep_to_their_budget(
    uncached: tuple[Page, Traffic], site: str, redis: object, *, with_account: bool
) -> None:
    sync.load_failures(load(FAILURES))
    page, traffic = uncached
    if with_account:
        client = Client()
        client.force_login(User.objects.create_user("alice@example.com"))
        cookie = client.cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": site}])
    for address in heaviest():
        traffic.urls.clear()
        traffic.received = 0
        page.goto(address, wait_until="networkidle")
        assert len(traffic.urls) <= REQUESTS, traffic.urls
        assert all(urlsplit(url).netloc == urlsplit(site).netloc for url in traffic.urls)
        assert 1000 < traffic.received <= PAGE_BYTES, address
        assert page.evaluate("document.querySelectorAll('*').length") <= ELEMENTS, address


@pytest.mark.usefixtures("whole_catalogue")
def test_no_page_of_the_catalogue_is_larger_than_its_share(client: Client) -> None:
    for slug in Failure.objects.values_list("slug", flat=True):
        response = client.get(f"/failures/{slug}/", headers={"Accept-Encoding": "gzip"})
        assert len(response.content) <= HTML_BYTES, slug


@pytest.mark.parametrize(("kind", "most"), [("css", STYLE_BYTES), ("js", SCRIPT_BYTES)])
def test_styles_and_scripts_are_small_together(kind: str, most: int) -> None:
    files = sorted((STATIC / kind).glob(f"*.{kind}"))
    assert files
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= most


@pytest.mark.usefixtures("whole_catalogue")
def test_every_page_of_the_catalogue_has_a_title_of_its_own() -> None:
    titles = list(Failure.objects.values_list("page_title", flat=True))
    assert len(set(titles)) == len(titles)
