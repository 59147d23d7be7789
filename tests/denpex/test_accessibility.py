"""axe finds nothing to mend: on each page of each kind, in both themes, on the narrowest phone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.http import HttpResponse
from django.test.signals import template_rendered

from encyclopedia import sync
from encyclopedia.catalogue import FAILURES, Catalogue, load
from tests.every_page import every_page, page_templates
from tests.shown import show

if TYPE_CHECKING:
    from django.template import Template
    from playwright.sync_api import Page

# Colours hang on the theme and room on the width, so that each is looked at once.
VIEWS = (("dark", 320), ("light", 1280))
OPTIONS = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load(FAILURES)


@pytest.fixture
def _failures(transactional_db: None, redis: object, catalogue: Catalogue) -> None:
    sync.load_failures(catalogue)


def violations(page: Page) -> list[str]:
    found: dict[str, Any] = Axe().run(page, options=OPTIONS).response
    return [
        f"{each['id']}: {node['html']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


@pytest.mark.django_db
@pytest.mark.usefixtures("redis")
def test_every_template_of_a_page_is_among_the_pages(catalogue: Catalogue) -> None:
    sync.load_failures(catalogue)
    rendered: set[str | None] = set()

    def note(template: Template, **_: object) -> None:
        rendered.add(template.name)

    template_rendered.connect(note)
    every_page()
    template_rendered.disconnect(note)

    assert page_templates() <= rendered, page_templates() - rendered


@pytest.mark.django_db
@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize(("theme", "width"), VIEWS)
def test_axe_finds_nothing_to_mend_on_any_page(
    wide_page: Page, catalogue: Catalogue, theme: Literal["dark", "light"], width: int
) -> None:
    sync.load_failures(catalogue)
    wide_page.emulate_media(color_scheme=theme)
    wide_page.set_viewport_size({"width": width, "height": 900})
    found = []
    for name, response in every_page().items():
        show(wide_page, response)
        wide_page.evaluate("document.querySelectorAll('details').forEach((it) => (it.open = true))")
        needed = wide_page.evaluate("document.documentElement.scrollWidth")
        found += [f"{name}: {needed} px wide"] if needed > width else []
        found += [f"{name}: {each}" for each in violations(wide_page)]
    assert found == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_failures")
def test_axe_finds_nothing_to_mend_while_suggestions_are_open(wide_page: Page) -> None:
    wide_page.goto("/")
    wide_page.locator(".site-search input").press_sequentially("checkp")
    wide_page.get_by_role("option").first.wait_for()
    wide_page.keyboard.press("ArrowDown")
    assert violations(wide_page) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_failures")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_to_mend_in_the_list_of_keys(
    wide_page: Page, theme: Literal["dark", "light"]
) -> None:
    wide_page.emulate_media(color_scheme=theme)
    wide_page.goto("/style/")
    wide_page.get_by_role("button", name="Keys").click()
    wide_page.get_by_role("dialog", name="Keys").wait_for()
    assert violations(wide_page) == []


def test_a_page_that_asks_all_the_time_does_not_disturb_the_next(wide_page: Page) -> None:
    ask = "fetch('/').then(() => location.reload(), () => {})"
    asking = f"<script>setInterval(() => {ask}, 1)</script>"
    for number in range(30):
        show(wide_page, HttpResponse(f"<h1>{number}</h1>{asking}"))
        wide_page.wait_for_timeout(20)
        assert wide_page.locator("h1").inner_text() == str(number)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_failures")
def test_a_fault_is_found(wide_page: Page) -> None:
    """The check itself checks."""
    wide_page.goto("/")
    wide_page.evaluate("document.querySelector('label[for=paste-log]').remove()")
    assert any(each.startswith("label") for each in violations(wide_page))
