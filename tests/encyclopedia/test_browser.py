"""The encyclopedia in a real browser: wide, narrow, by keyboard, and without scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from denpex.accounts.models import User
from encyclopedia.catalogue import Catalogue

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("failures")]

PAGE = "/failures/scratch-disk-full/"
ADDRESSES = ["/", "/failures/", "/failures/?q=space+left", PAGE, "/style/", "/no-such-page"]


def top_of(element: Locator) -> float:
    top: float = element.evaluate("(element) => element.getBoundingClientRect().top")
    return top


def clipboard(page: Page) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_narrow_page_scrolls_down_and_not_sideways(narrow_page: Page, address: str) -> None:
    narrow_page.goto(address)
    assert narrow_page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_narrow_page_shows_messages_commands_and_tables_to_their_end(narrow_page: Page) -> None:
    narrow_page.goto(PAGE)
    parts = narrow_page.locator(".message, .wrapped, .command pre, .scroll")
    widths = parts.evaluate_all("(all) => all.map((each) => [each.scrollWidth, each.clientWidth])")
    assert len(widths) == 8
    assert all(needed <= there for needed, there in widths)
    sign, reason = narrow_page.locator("tbody tr").first.get_by_role("cell").all()
    assert reason.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"Why"'
    assert top_of(sign) < top_of(reason)


def test_selected_lines_are_those_of_the_log(wide_page: Page) -> None:
    wide_page.goto(PAGE)
    selected = wide_page.locator(".wrapped", has_text="Filesystem").evaluate(
        "(pre) => { getSelection().selectAllChildren(pre); return getSelection().toString(); }"
    )
    assert selected.strip().splitlines() == [
        "df -h /scratch",
        "Filesystem      Size  Used Avail Use% Mounted on",
        "/dev/nvme0n1p1  3.5T  3.5T     0 100% /scratch",
    ]


def test_a_fix_is_copied_as_it_stands(wide_page: Page) -> None:
    wide_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wide_page.goto(PAGE)
    wide_page.locator(".answer .command").first.get_by_role("button", name="Copy").click()
    wide_page.get_by_role("status").get_by_text("Copied").wait_for(state="attached")
    assert clipboard(wide_page) == "rm -r /scratch/run-7/step-1*"


def test_a_session_is_copied_without_prompt_and_output(wide_page: Page) -> None:
    wide_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wide_page.goto(PAGE)
    session = wide_page.locator(".copyable", has=wide_page.locator(".gp"))
    session.get_by_role("button", name="Copy").click()
    wide_page.get_by_role("status").get_by_text("Copied").wait_for(state="attached")
    assert clipboard(wide_page) == "df -h /scratch"


def test_a_chosen_theme_is_kept_until_it_is_auto_again(wide_page: Page) -> None:
    wide_page.goto("/")
    toggle = wide_page.get_by_role("button", name="Theme:")
    assert toggle.inner_text() == "Theme: auto"
    toggle.click()
    toggle.click()
    assert toggle.inner_text() == "Theme: dark"
    wide_page.goto("/failures/")
    assert wide_page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert wide_page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
    wide_page.get_by_role("button", name="Theme: dark").click()
    wide_page.reload()
    assert wide_page.evaluate("document.documentElement.dataset.theme") is None


def test_the_first_tab_leads_past_the_header(wide_page: Page) -> None:
    wide_page.goto(PAGE)
    wide_page.keyboard.press("Tab")
    assert wide_page.evaluate("document.activeElement.className") == "skip-link"
    wide_page.keyboard.press("Enter")
    assert wide_page.evaluate("document.activeElement.id") == "main"


def test_whatever_has_the_focus_shows_it(wide_page: Page) -> None:
    wide_page.goto("/failures/")
    for _ in range(12):
        wide_page.keyboard.press("Tab")
        outline = wide_page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"


@pytest.mark.parametrize("address", ["/", "/failures/", PAGE])
def test_what_can_be_clicked_is_large_enough(narrow_page: Page, address: str) -> None:
    """24 pixels each way, links inside a sentence excepted (WCAG 2.5.8)."""
    narrow_page.goto(address)
    small = narrow_page.evaluate(
        """[...document.querySelectorAll("a, button, input:not([type=hidden]), textarea")]
        .filter((element) => element.checkVisibility() && !element.matches(".skip-link, p a, dd a"))
        .map((element) => [element, element.getBoundingClientRect()])
        .filter(([element, box]) => box.height < 24 || box.width < 24)
        .map(([element]) => element.outerHTML)"""
    )
    assert small == []


def test_a_page_works_without_scripts(browser: Browser, site: str) -> None:
    context = browser.new_context(base_url=site, java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Search failures").fill("space left")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="Scratch Disk Full During a Save").click()
        assert page.url.endswith(PAGE)
        assert (
            page.get_by_role("heading", level=1).inner_text() == "Scratch Disk Full During a Save"
        )
        assert page.locator("[data-theme-toggle]").is_hidden()
    finally:
        context.close()


@pytest.mark.parametrize("address", ["/", PAGE])
def test_a_page_asks_for_little_and_for_nothing_elsewhere(
    wide_page: Page, site: str, address: str
) -> None:
    asked: list[str] = []
    wide_page.on("request", lambda request: asked.append(request.url))
    wide_page.goto(address, wait_until="networkidle")
    assert all(url.startswith(site) for url in asked)
    assert len(asked) <= 6
    assert wide_page.evaluate("document.querySelectorAll('*').length") <= 800


# Choices that are kept


def open_parts(page: Page) -> list[str]:
    parts = page.locator("details[data-choice][open] > summary")
    return [part.strip() for part in parts.all_inner_texts()]


def test_one_role_is_open_and_the_chosen_one_on_the_next_visit(wide_page: Page) -> None:
    wide_page.goto(PAGE)
    assert open_parts(wide_page) == ["Fix, for ML engineers", "On call"]
    wide_page.get_by_text("Fix, for infrastructure").click()
    wide_page.get_by_text("Executive", exact=True).click()
    assert open_parts(wide_page) == ["Fix, for infrastructure", "Executive"]
    wide_page.goto(PAGE)
    assert open_parts(wide_page) == ["Fix, for infrastructure", "Executive"]


def test_an_address_opens_the_part_it_names_without_scripts(browser: Browser, site: str) -> None:
    context = browser.new_context(base_url=site, java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(PAGE)
        page.get_by_role("link", name="executive").click()
        page.get_by_text("Each failed save loses").wait_for(state="visible")
    finally:
        context.close()


def test_the_stack_of_a_reader_is_a_tab_that_stays_open(
    wide_page: Page, site: str, failures: Catalogue
) -> None:
    log_in(wide_page, site)
    wide_page.goto(PAGE)
    slurm, kubernetes = wide_page.get_by_role("tab").all()
    assert slurm.get_attribute("aria-selected") == "true"
    assert wide_page.get_by_text("CronJob").is_hidden()
    slurm.focus()
    wide_page.keyboard.press("ArrowRight")
    assert kubernetes.get_attribute("aria-selected") == "true"
    assert wide_page.get_by_text("CronJob").is_visible()
    wide_page.goto(PAGE)
    assert wide_page.get_by_text("CronJob").is_visible()
    assert wide_page.get_by_text("/scratch/leftovers").is_hidden()


def log_in(page: Page, site: str) -> None:
    client = Client()
    client.force_login(User.objects.create_user("alice@example.com"))
    cookie = client.cookies["sessionid"]
    page.context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": site}])


def test_the_contents_stay_in_sight_and_mark_what_is_read(wide_page: Page) -> None:
    wide_page.goto(PAGE)
    contents = wide_page.get_by_role("navigation", name="On this page")
    contents.get_by_role("link", name="References").click()
    contents.locator("[aria-current]", has_not_text="Quick answer").wait_for()
    assert wide_page.evaluate("scrollY") > 500
    assert contents.get_by_role("link", name="Quick answer").is_visible()


def test_the_contents_are_folded_on_a_narrow_page(narrow_page: Page) -> None:
    narrow_page.goto(PAGE)
    link = narrow_page.get_by_role("navigation", name="On this page").get_by_role("link").first
    assert link.is_hidden()
    narrow_page.get_by_text("On this page", exact=True).click()
    assert link.is_visible()


def test_a_reader_says_whether_this_was_it(narrow_page: Page) -> None:
    narrow_page.goto(PAGE)
    narrow_page.get_by_role("button", name="No, something else").click()
    narrow_page.get_by_role("heading", level=1, name="Thank you").wait_for()
    assert narrow_page.get_by_label("Log or traceback").is_visible()


# Search


def search_box(page: Page) -> Locator:
    return page.locator(".site-search input")


def test_suggestions_are_read_and_chosen_by_keyboard(wide_page: Page) -> None:
    wide_page.goto("/")
    wide_page.keyboard.press("Control+k")
    wide_page.keyboard.type("scratch d")
    options = wide_page.get_by_role("option")
    options.first.wait_for()
    assert search_box(wide_page).get_attribute("aria-expanded") == "true"
    wide_page.keyboard.press("ArrowDown")
    chosen = search_box(wide_page).get_attribute("aria-activedescendant")
    assert options.first.get_attribute("id") == chosen
    wide_page.keyboard.press("Enter")
    wide_page.wait_for_url(f"**{PAGE}")


@pytest.mark.parametrize("key", ["/", "Control+k"])
def test_key_leads_to_the_search(wide_page: Page, key: str) -> None:
    wide_page.goto(PAGE)
    wide_page.keyboard.press(key)
    wide_page.keyboard.type("a/b?")
    assert search_box(wide_page).input_value() == "a/b?"


def test_question_mark_shows_the_keys(wide_page: Page) -> None:
    wide_page.goto(PAGE)
    wide_page.keyboard.press("?")
    keys = wide_page.get_by_role("dialog", name="Keys")
    keys.wait_for()
    assert "evidence" not in keys.inner_text()
    keys.get_by_role("button", name="Close").click()
    assert keys.is_hidden()


def test_escape_closes_the_suggestions_and_enter_then_searches(wide_page: Page) -> None:
    wide_page.goto("/")
    search_box(wide_page).press_sequentially("scratch d")
    wide_page.get_by_role("option").first.wait_for()
    wide_page.keyboard.press("Escape")
    assert wide_page.get_by_role("option").count() == 0
    wide_page.keyboard.press("Enter")
    wide_page.wait_for_url("**/failures/?q=scratch+d")


def test_a_suggestion_is_chosen_by_pointer(narrow_page: Page) -> None:
    narrow_page.goto("/")
    search_box(narrow_page).press_sequentially("scratch d")
    narrow_page.get_by_role("option").first.click()
    narrow_page.wait_for_url(f"**{PAGE}")


def test_a_pasted_traceback_keeps_its_lines(wide_page: Page) -> None:
    text = "first line\n  zzzz\n" * 30 + "last line"
    paste_into_search(wide_page, text)
    assert wide_page.get_by_label("Log or traceback").input_value() == text
    assert "Only its end" not in wide_page.inner_text("main")


@pytest.mark.parametrize("storage", ["open", "blocked"])
def test_a_pasted_log_is_searched_for_by_its_last_lines_and_offered_whole(
    wide_page: Page, storage: str
) -> None:
    blocked = storage == "blocked"
    if blocked:
        wide_page.add_init_script(
            "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error() } })"
        )
    text = "first line: [a], 'b'\n  zzzz\n" * 1000 + "last line"
    paste_into_search(wide_page, text)
    assert len(wide_page.url) < 8000
    searched = parse_qs(urlsplit(wide_page.url).query)["q"][0].replace("\r\n", "\n")
    assert text.endswith(f"\n{searched}")
    offered = wide_page.get_by_label("Log or traceback").input_value()
    assert offered == (searched.strip() if blocked else text)
    assert ("The box below holds all that you pasted." in wide_page.inner_text("main")) != blocked


def test_a_long_text_that_was_not_pasted_is_searched_for_by_its_end_too(wide_page: Page) -> None:
    wide_page.goto("/")
    text = "zzzz of step 12 " * 1000 + "at the end"
    search_box(wide_page).fill(text)
    search_box(wide_page).press("Enter")
    wide_page.wait_for_url("**/failures/?q=*at+the+end")
    assert wide_page.get_by_label("Log or traceback").input_value() == text
    assert f"of {len(text)} characters. The box below holds all" in wide_page.inner_text("main")


def test_a_printed_page_says_where_and_when_and_asks_for_nothing(wide_page: Page) -> None:
    wide_page.goto(f"{PAGE}#why-it-happens")
    wide_page.emulate_media(media="print")
    wide_page.pdf()
    printed = wide_page.inner_text("main")
    address = wide_page.url.partition("#")[0]
    assert re.search(
        rf"Printed from {re.escape(address)} on \d{{4}}-\d\d-\d\d, \d\d:\d\d UTC", printed
    )
    for asking in ("Was this it?", "The full steps", "A verified workplace", "Paste your log"):
        assert asking not in printed
    wide_page.emulate_media(media="screen")
    assert "Printed from" not in wide_page.inner_text("main")


def paste_into_search(page: Page, text: str) -> None:
    page.goto("/")
    search_box(page).evaluate(
        """(input, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text", text);
            input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
        }""",
        text,
    )
    search_box(page).press("Enter")
    page.wait_for_url("**/failures/?q=*")
