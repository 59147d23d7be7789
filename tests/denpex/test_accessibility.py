"""axe finds nothing to mend: on one page of each kind, in both themes, on the narrowest phone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client

from denpex.accounts.models import User
from encyclopedia import sync
from encyclopedia.catalogue import FAILURES, Catalogue, load
from tests.page_list import FAILURE_PAGE, PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.django_db(transaction=True)

WIDTHS = (320, 1280)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load(FAILURES)


@pytest.fixture(autouse=True)
def _failures(transactional_db: None, redis: object, catalogue: Catalogue) -> None:
    sync.load_failures(catalogue)


def violations(page: Page) -> list[str]:
    found: dict[str, Any] = Axe().run(page).response
    return [
        f"{each['id']}: {node['html']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def assert_accessible(page: Page, address: str) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(address)
            assert violations(page) == [], f"{address}, {theme}, {width} px"
            assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("address", PAGES)
def test_axe_finds_nothing_to_mend(wide_page: Page, address: str) -> None:
    assert_accessible(wide_page, address)


def test_axe_finds_nothing_to_mend_on_the_page_of_an_account(wide_page: Page, site: str) -> None:
    client = Client()
    client.force_login(User.objects.create_user("alice@example.com"))
    cookie = client.cookies["sessionid"].value
    wide_page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": site}])
    wide_page.goto(FAILURE_PAGE)
    assert wide_page.get_by_role("tablist").is_visible()
    assert_accessible(wide_page, FAILURE_PAGE)


def test_axe_finds_nothing_to_mend_while_suggestions_are_open(wide_page: Page) -> None:
    wide_page.goto("/")
    wide_page.locator(".site-search input").press_sequentially("checkp")
    wide_page.get_by_role("option").first.wait_for()
    wide_page.keyboard.press("ArrowDown")
    assert violations(wide_page) == []


def test_a_fault_is_found(wide_page: Page) -> None:
    """The check itself checks."""
    wide_page.goto("/")
    wide_page.evaluate("document.querySelector('label[for=paste-log]').remove()")
    assert any(each.startswith("label") for each in violations(wide_page))
