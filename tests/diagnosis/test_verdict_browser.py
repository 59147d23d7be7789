"""The verdict and its log in a real browser: by keyboard, and without scripts."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, Page, expect

from denpex.processes import Child
from tests.diagnosis.conftest import Answered, MakeJob, Told, case_log
from tests.diagnosis.verdicts import consequence, evidence, fate, verdict

pytestmark = pytest.mark.django_db(transaction=True)

# A machine that has much else to do is slow, and no worse for it.
expect.set_options(timeout=30_000)

SAMPLE = "/d/sample-disk-full/"
CRASH = b"[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'labels'\n"
STEPS = b"".join(b"step %d loss 0.5\n" % n for n in range(1, 2501))
LONG = STEPS + CRASH + STEPS


@pytest.fixture(autouse=True)
def failures(transactional_db: None, redis: object) -> None:
    call_command("load_failures", verbosity=0)


@contextlib.contextmanager
def opened(browser: Browser, site: str, width: int, **options: object) -> Iterator[Page]:
    context = browser.new_context(
        base_url=site,
        viewport={"width": width, "height": 800},
        **options,  # type: ignore[arg-type]
    )
    try:
        yield context.new_page()
    finally:
        context.close()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the link or button of this name has the focus; it must be seen to have it."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == name:
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid"
            return
    pytest.fail(f"No Tab leads to {name}.")


def ranks_of(world: int, lines: int) -> bytes:
    """Return a log of a run in which rank 17 fills its disk and all others wait for it."""
    steps = [
        f"2026-11-30 06:{n // world // 60 % 60:02}:{n // world % 60:02},000 [rank{n % world}]: "
        f"step {n // world} loss {n % 89 / 90:.4f} tokens per second 31337"
        for n in range(lines)
    ]
    crash = [
        "2026-11-30 06:58:00,000 [rank17]: Traceback (most recent call last):",
        "2026-11-30 06:58:00,000 [rank17]: OSError: [Errno 28] No space left on device",
    ]
    waiting = [
        f"[rank{n}]:[E1130 07:28:00.{n:06} ProcessGroupNCCL.cpp:616] [Rank {n}] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=189, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=1800000) ran for 1800084 milliseconds before timing out."
        for n in range(world)
        if n != 17
    ]
    return "\n".join((f"[rank0]: world_size={world}", *steps, *crash, *waiting, "")).encode()


def test_keyboard_leads_from_the_box_to_the_evidence_and_back(
    wide_page: Page, worker: Child
) -> None:
    page = wide_page
    page.goto("/diagnose/")
    while page.evaluate("document.activeElement.id") != "paste-log":
        page.keyboard.press("Tab")
    page.keyboard.insert_text(case_log("lab-disk-full-rank0-torchrun4").decode())
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("rank 0")
    address = page.url

    tab_to(page, "Line 55")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{address}#L55")
    line = page.locator("#L55")
    expect(line).to_be_in_viewport()
    assert line.evaluate("(line) => line.matches(':target')")

    page.go_back()
    expect(page).to_have_url(address)


def test_verdict_is_read_searched_and_copied_without_scripts(
    browser: Browser, site: str, answered: Answered
) -> None:
    job = answered(LONG)
    with opened(browser, site, 1280, java_script_enabled=False) as page:
        page.goto(f"/d/{job.pk}/")
        expect(page.get_by_role("button", name="Copy as Markdown")).to_be_hidden()
        page.get_by_text("As Markdown, for an issue or a chat").click()
        expect(page.locator("#verdict-markdown")).to_contain_text("KeyError")

        page.get_by_role("link", name=re.compile("show 2506")).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("rank_0.log")
        expect(page.locator("#L2506")).to_be_attached()
        page.get_by_role("link", name=re.compile("Lines 3001")).first.click()
        expect(page.locator("#L3001")).to_be_visible()

        page.get_by_label("Go to line").fill("2502")
        page.get_by_role("button", name="Go").click()
        expect(page.locator("#L2502.log-evidence")).to_be_attached()

        page.get_by_role("searchbox", name="Search this log").fill("keyerror")
        page.get_by_role("search", name="Search this log").get_by_role("button").click()
        page.get_by_role("link", name="Line 2502").click()
        expect(page.locator("#L2502")).to_be_in_viewport()
        expect(page.locator("#L2502 mark")).to_have_text("KeyError")

        page.get_by_role("link", name="Back to the verdict").first.click()
        page.get_by_role("button", name="Delete now").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Deleted")


def test_waiting_page_turns_into_the_verdict_without_scripts(
    browser: Browser, site: str, make_job: MakeJob, told: Told
) -> None:
    job = make_job()
    with opened(browser, site, 1280, java_script_enabled=False) as page:
        page.goto(f"/d/{job.pk}/")
        expect(page.get_by_role("status")).to_have_text("It is next in line.")
        told(verdict([], [evidence(2)]), CRASH * 9, job=job)
        expect(page.get_by_role("heading", level=1)).to_have_text("Scratch Disk Full.")


def test_gap_opens_in_its_place(wide_page: Page, answered: Answered) -> None:
    wide_page.goto(f"/d/{answered(LONG).pk}/")
    before = wide_page.locator(".log li").count()

    wide_page.get_by_role("link", name="show 2199–2498").click()

    expect(wide_page.locator("#L2199 .log-number")).to_be_focused()
    assert wide_page.locator(".log li").count() == before + 300
    expect(wide_page.get_by_role("link", name="show 1899–2198")).to_be_visible()
    expect(wide_page.get_by_role("status").get_by_text("Shown: 2199–2498")).to_be_attached()


def test_gap_opens_elsewhere_where_the_page_would_grow_too_long(
    wide_page: Page, answered: Answered
) -> None:
    wide_page.goto(f"/d/{answered(LONG).pk}/")
    wide_page.evaluate(
        "document.querySelector('.log ol').append("
        "...Array.from({ length: 9900 }, () => document.createElement('li')))"
    )

    wide_page.get_by_role("link", name="show 2199–2498").click()

    expect(wide_page).to_have_url(re.compile(r"/log/1/\?line=2199$"))


def test_run_of_lines_has_an_address(wide_page: Page, answered: Answered) -> None:
    job = answered(LONG)
    wide_page.goto(f"/d/{job.pk}/")

    wide_page.get_by_role("link", name="Line 2500", exact=True).click()
    wide_page.get_by_role("link", name="Line 2503", exact=True).click(modifiers=["Shift"])

    expect(wide_page).to_have_url(re.compile("#L2500-L2503$"))
    expect(wide_page.locator(".log-chosen")).to_have_count(4)
    wide_page.reload()
    expect(wide_page.locator(".log-chosen")).to_have_count(4)


@pytest.mark.parametrize("fragment", ["L7", "L7-L9", "L9-L7"])
def test_address_of_a_line_that_is_not_shown_leads_to_it(
    wide_page: Page, answered: Answered, fragment: str
) -> None:
    job = answered(LONG)

    wide_page.goto(f"/d/{job.pk}/#{fragment}")

    expect(wide_page).to_have_url(re.compile(r"/log/1/\?lines?=7.*#L"))
    expect(wide_page.locator("#L7")).to_be_in_viewport()


def test_address_of_a_line_that_there_is_not_stays_where_it_is(
    wide_page: Page, answered: Answered
) -> None:
    job = answered(CRASH * 9)

    wide_page.goto(f"/d/{job.pk}/#L99999")

    expect(wide_page).to_have_url(re.compile(r"/log/1/\?line=99999#L99999$"))
    expect(wide_page.locator("#L1")).to_be_visible()


@pytest.mark.parametrize("width", [390, 700, 1440])
def test_evidence_is_read_to_its_end_beside_its_note(
    browser: Browser, site: str, width: int
) -> None:
    with opened(browser, site, width) as page:
        page.goto("/d/sample-killed-rank/")
        lines = page.locator(".log li.log-evidence")
        boxes = lines.evaluate_all(
            """(lines) => lines.map((line) => {
                const [code, note] = [line.querySelector("code"), line.querySelector(".log-note")]
                    .map((part) => part.getBoundingClientRect());
                const log = line.closest(".log").getBoundingClientRect();
                return {
                    inside: code.right <= log.right,
                    apart: code.right <= note.left || code.bottom <= note.top,
                };
            })"""
        )
        assert boxes
        assert boxes == [{"inside": True, "apart": True}] * len(boxes)


@pytest.mark.parametrize("width", [320, 768, 1440])
def test_what_was_searched_for_is_in_sight(browser: Browser, site: str, width: int) -> None:
    with opened(browser, site, width) as page:
        page.goto("/d/sample-killed-rank/log/?q=error")
        hidden = page.locator("mark").evaluate_all(
            """(marks) => marks.filter((mark) => {
                const [box, code, log] = [mark, mark.closest("code"), mark.closest(".log")]
                    .map((part) => part.getBoundingClientRect());
                return box.bottom > code.bottom + 1 || box.right > log.right;
            }).length"""
        )

        expect(page.locator("mark")).not_to_have_count(0)
        assert hidden == 0


@pytest.mark.parametrize("width", [320, 768, 1440])
def test_bar_of_evidence_is_as_high_as_its_line(browser: Browser, site: str, width: int) -> None:
    with opened(browser, site, width) as page:
        page.goto(SAMPLE)
        bars = page.locator(".log-evidence > .log-number").evaluate_all(
            "(all) => all.map((each) => getComputedStyle(each).boxShadow)"
        )

        assert bars
        assert all("inset" in bar for bar in bars)


def test_markdown_is_copied(wide_page: Page) -> None:
    wide_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wide_page.goto(SAMPLE)

    wide_page.get_by_role("button", name="Copy as Markdown").click()

    expect(wide_page.get_by_role("status").get_by_text("Copied")).to_be_attached()
    copied = wide_page.evaluate("navigator.clipboard.readText()")
    assert copied == wide_page.request.get("/d/sample-disk-full.md").text()


def focused_line(page: Page) -> str:
    line: str = page.evaluate("document.activeElement.closest('li')?.id ?? ''")
    return line


def test_letters_step_through_the_evidence(wide_page: Page) -> None:
    wide_page.goto(SAMPLE)
    lines = wide_page.locator(".log-evidence").evaluate_all("(all) => all.map((each) => each.id)")
    assert len(lines) > 1

    visited = []
    for _ in range(len(lines) + 1):
        wide_page.keyboard.press("n")
        visited.append(focused_line(wide_page))
        expect(wide_page.locator(f"#{visited[-1]}")).to_be_in_viewport()
    assert visited == [*lines, lines[0]]
    wide_page.keyboard.press("p")
    assert focused_line(wide_page) == lines[-1]

    search = wide_page.get_by_role("searchbox", name="Search this log")
    search.press_sequentially("pn/?")
    expect(search).to_have_value("pn/?")
    expect(search).to_be_focused()


def test_first_letter_may_lead_back_from_the_end(wide_page: Page) -> None:
    wide_page.goto(SAMPLE)
    last = wide_page.locator(".log-evidence").last.get_attribute("id")

    wide_page.keyboard.press("p")

    assert focused_line(wide_page) == last


def test_letters_can_be_switched_off(wide_page: Page) -> None:
    wide_page.goto(SAMPLE)
    wide_page.keyboard.press("?")
    keys = wide_page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Next and previous line of evidence")
    keys.get_by_label("Keys without Ctrl").uncheck()
    wide_page.keyboard.press("Escape")
    expect(keys).to_be_hidden()

    wide_page.reload()
    for key in ("n", "?", "/"):
        wide_page.keyboard.press(key)
    assert focused_line(wide_page) == ""
    expect(keys).to_be_hidden()
    expect(wide_page.get_by_label("Search failures")).not_to_be_focused()

    wide_page.get_by_role("button", name="Keys").click()
    keys.get_by_label("Keys without Ctrl").check()
    keys.get_by_role("button", name="Close").click()
    wide_page.keyboard.press("n")
    assert focused_line(wide_page) != ""


def test_marks_of_the_timeline_lead_to_their_lines(wide_page: Page) -> None:
    wide_page.goto(SAMPLE)
    mark = wide_page.locator(".timeline a").first

    mark.focus()
    wide_page.keyboard.press("Enter")

    target = urlsplit(wide_page.url).fragment
    expect(wide_page.locator(f"#{target}")).to_be_in_viewport()


@pytest.mark.parametrize("width", [320, 390, 768, 1440, 2560])
def test_timeline_and_page_fit_the_window(
    browser: Browser, site: str, answered: Answered, width: int
) -> None:
    job = answered(ranks_of(64, 640))
    with opened(browser, site, width) as page:
        page.goto(f"/d/{job.pk}/")

        assert page.evaluate("document.documentElement.scrollWidth") == width
        edges = page.locator(".timeline text, .timeline rect").evaluate_all(
            "(all) => all.map((each) => each.getBoundingClientRect())"
            ".map((box) => [box.left, box.right])"
        )
        assert len(edges) > 10
        assert min(left for left, _right in edges) >= 0
        assert max(right for _left, right in edges) <= width


def test_page_of_a_thousand_ranks_and_ten_megabytes_stays_small(
    wide_page: Page, answered: Answered
) -> None:
    log = ranks_of(1024, 120_000)
    assert 9_000_000 < len(log) < 10_000_000
    job = answered(log)

    foreign = []
    wide_page.on("request", lambda request: foreign.append(request.url))
    wide_page.goto(f"/d/{job.pk}/")

    assert wide_page.evaluate("document.getElementsByTagName('*').length") <= 1400
    expect(wide_page.locator("title", has_text="Timeline of 1024 ranks")).to_be_attached()
    assert len(foreign) <= 6
    assert {urlsplit(url).hostname for url in foreign} == {"127.0.0.1"}


def test_line_that_is_asked_for_is_read_to_its_end_on_a_phone(narrow_page: Page) -> None:
    narrow_page.goto("/d/sample-killed-rank/")
    hidden = "(line) => line.scrollHeight - line.clientHeight"
    code = narrow_page.locator(".log li:not(.log-evidence) code", has_text="[rank7]: RuntimeError")
    assert code.evaluate(hidden) > 0

    number = code.locator("xpath=../a").get_attribute("href")
    narrow_page.goto(f"/d/sample-killed-rank/{number}")

    expect(code).to_be_in_viewport()
    assert code.evaluate(hidden) == 0


@pytest.fixture
def reasoned(told: Told) -> str:
    """Return the address of a verdict whose every line is long, and whose log is behind stamps."""
    long = f"{STAMPED} RuntimeError: {'x' * 30} and {'y' * 60}, which is why it ended here"
    log = "".join(f"{STAMPED} step {n}: the loss is 0.51, the rate 0.0003\n" for n in range(99))
    lines = log.splitlines()
    lines[49] = lines[79] = long
    of = verdict(
        [fate(3, "initiated", first_line=1, last_line=99)],
        [evidence(50, 3, text=long)],
        rank=3,
        consequences=[consequence("peer-closed", 80, 3)],
    )
    return f"/d/{told(of, chr(10).join(lines).encode()).pk}/"


STAMPED = "2026-11-30T03:04:10.000 node-124.lab.example (Worker pid=12345, ip=10.0.0.17) [rank3]:"
BOX = (
    "element => (({x, y, right, bottom}) => [x, y, right, bottom])(element.getBoundingClientRect())"
)


@pytest.mark.parametrize("width", [390, 768, 1440, 1600, 1920, 2560])
def test_log_stands_beside_the_verdict_where_there_is_room(
    browser: Browser, site: str, width: int
) -> None:
    with opened(browser, site, width) as page:
        page.goto(SAMPLE)
        answer, log, fix, why = (
            page.locator(f"section:has(> #{name})").first
            for name in ("verdict", "evidence", "fix", "why")
        )
        x, y, right, bottom = log.evaluate(BOX)
        below = why.evaluate(BOX)[1]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width < 1600:
            assert (x, y > fix.evaluate(BOX)[3], below > bottom) == (
                answer.evaluate(BOX)[0],
                True,
                True,
            )
            return
        assert x > answer.evaluate(BOX)[2]
        assert right <= width
        # The other sections stand as close to each other as they do without it.
        assert 40 < below - fix.evaluate(BOX)[3] < 50

        page.get_by_role("heading", name="What was masked").scroll_into_view_if_needed()
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
        _x, y, _right, bottom = log.evaluate(BOX)
        assert y >= 0
        assert bottom <= 800
        page.evaluate("scrollTo(0, 0)")
        page.get_by_role("link", name="line 205").first.click()
        expect(page.locator("#L205 > .log-number")).to_be_in_viewport(ratio=1)


def test_verdict_that_is_shorter_than_its_log_is_not_pulled_apart(
    browser: Browser, site: str, told: Told
) -> None:
    of = verdict([], [evidence(20 * n, 0) for n in range(1, 6)], rank=0)
    job = told(of, b"step 1 loss 0.5\n" * 120)
    with opened(browser, site, 1920) as page:
        page.goto(f"/d/{job.pk}/")
        sections = page.locator("main > section:not(.beside)").evaluate_all(
            f"all => all.map({BOX}).map(([, y, , bottom]) => [y, bottom])"
        )
        gaps = [next_[0] - one[1] for one, next_ in itertools.pairwise(sections)]
        assert max(gaps) < 50


def test_lines_around_the_evidence_are_read_to_their_message_on_a_phone(
    narrow_page: Page, reasoned: str
) -> None:
    narrow_page.goto(reasoned)
    for code in narrow_page.locator(".log li > code").all():
        assert code.evaluate("code => code.scrollHeight <= code.clientHeight + 1")


@pytest.mark.parametrize("width", [390, 720])
def test_lines_are_printed_to_their_end(
    browser: Browser, site: str, reasoned: str, width: int
) -> None:
    with opened(browser, site, width) as page:
        page.goto(reasoned)
        page.emulate_media(media="print")
        for code in page.locator(".log li > code, .telling, .failure-item-message").all():
            assert code.evaluate(
                "({scrollHeight, clientHeight, scrollWidth, clientWidth}) =>"
                " scrollHeight <= clientHeight + 1 && scrollWidth <= clientWidth + 1"
            )
