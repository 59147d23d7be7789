"""Whole visits: from a search engine to an account; by keyboard alone; without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from denpex.processes import Child
from tests.conftest import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TITLE = "Disk Full During Checkpoint Save"
PAGE = "/failures/disk-full-during-checkpoint-save/"
LINE = "RuntimeError: PytorchStreamWriter failed writing file data/12: file write failed"
LOG = f"""\
[rank0]: step 120 | loss 2.31
[rank1]: step 120 | loss 2.31
[rank1]: Traceback (most recent call last):
[rank1]:   File "/app/train.py", line 88, in save
[rank1]:     torch.save(state, path)
[rank1]: OSError: [Errno 28] No space left on device: '/scratch/step-120.pt'
[rank1]: {LINE}
"""


@pytest.fixture(autouse=True)
def _failures(transactional_db: None, redis: object) -> None:
    call_command("load_failures", verbosity=0)


def wait_for_verdict(page: Page) -> None:
    page.wait_for_url("**/d/*/")
    page.get_by_text("Rank 1", exact=True).first.wait_for(timeout=30_000)


def test_from_a_search_engine_to_an_account(narrow_page: Page, worker: Child) -> None:
    narrow_page.goto(PAGE, referer="https://search.example/")
    answer = narrow_page.get_by_role("region", name="Quick answer")
    box = answer.bounding_box()
    assert box is not None
    assert box["y"] < 844  # in the first screen
    assert narrow_page.get_by_text("A free account opens").is_visible()
    narrow_page.get_by_label("Log or traceback").fill(LOG)
    narrow_page.get_by_role("button", name="Diagnose").click()
    wait_for_verdict(narrow_page)
    assert narrow_page.get_by_text("[Errno 28] No space left").first.is_visible()

    verdict = narrow_page.url
    narrow_page.get_by_role("link", name="Sign up").click()
    narrow_page.get_by_label("E-mail").fill("alice@example.org")
    narrow_page.get_by_label("Password").fill(PASSWORD)
    narrow_page.get_by_role("button", name="Sign up").click()
    narrow_page.wait_for_url(verdict)
    assert narrow_page.get_by_role("link", name="Log out").is_visible()
    assert narrow_page.get_by_role("link", name="Sign up").count() == 0
    narrow_page.goto(PAGE)
    assert narrow_page.get_by_role("heading", name="Prevent", exact=True).is_visible()
    assert narrow_page.get_by_text("A free account opens").count() == 0


def press_until_focused(page: Page, selector: str, key: str = "Tab") -> None:
    """Press a key until `selector` has the focus, and see that all on the way shows it."""
    for _ in range(80):
        page.keyboard.press(key)
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"{key} does not lead to {selector}")


def test_by_keyboard_alone(wide_page: Page, worker: Child) -> None:
    wide_page.goto("/")
    wide_page.keyboard.press("Control+k")
    wide_page.keyboard.type("disk full during ch")
    # What stood there for the first letters may have been another page.
    wide_page.locator(".suggestions > :first-child", has_text=TITLE).wait_for()
    wide_page.keyboard.press("ArrowDown")
    wide_page.keyboard.press("Enter")
    wide_page.wait_for_url(f"**{PAGE}")

    press_until_focused(wide_page, ".skip-link")
    wide_page.keyboard.press("Enter")
    press_until_focused(wide_page, ".answer summary")
    wide_page.keyboard.press("Enter")
    assert not wide_page.locator(".answer details").first.get_attribute("open")
    press_until_focused(wide_page, "#paste-log")
    wide_page.keyboard.insert_text(LOG)
    wide_page.keyboard.press("Control+Enter")
    wait_for_verdict(wide_page)

    wide_page.keyboard.press("n")
    assert wide_page.evaluate("document.activeElement.getAttribute('aria-label')") == (
        "Line 6, evidence"
    )
    wide_page.keyboard.press("Enter")
    wide_page.wait_for_url("**/d/*/#L6")
    press_until_focused(wide_page, "#log-words")
    wide_page.keyboard.type("loss")
    wide_page.keyboard.press("Enter")
    wide_page.get_by_text("2 lines hold these words").wait_for()
    wide_page.keyboard.press("?")
    wide_page.get_by_role("dialog", name="Keys").wait_for()


def test_without_scripts(browser: Browser, site: str, worker: Child) -> None:
    context = browser.new_context(base_url=site, java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Search failures").fill(LINE)
        page.get_by_role("button", name="Search").click()
        assert page.url.endswith(PAGE)
        page.get_by_text("Fix, for infrastructure").click()
        page.locator("#infrastructure").wait_for(state="visible")
        page.get_by_text("On this page", exact=True).first.wait_for(state="attached")
        page.get_by_label("Log or traceback").fill(LOG)
        page.get_by_role("button", name="Diagnose").click()
        wait_for_verdict(page)
        page.get_by_role("link", name="Line 7", exact=True).first.click()
        assert page.url.endswith("#L7")
        page.get_by_role("searchbox", name="Search this log").fill("loss")
        page.get_by_role("search", name="Search this log").get_by_role("button").click()
        page.get_by_text("2 lines hold these words").wait_for()
        page.goto(PAGE)
        page.get_by_role("button", name="Yes, this was it").click()
        page.get_by_role("heading", name="Thank you").wait_for()
        page.goto("/failures/?category=storage")
        page.get_by_role("link", name="Critical").click()
        assert page.url.endswith("/failures/?category=storage&severity=critical")
    finally:
        context.close()
