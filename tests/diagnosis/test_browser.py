"""What a person does in a browser: from a failure's page to the verdict on their own log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from denpex.processes import Child
from diagnosis.models import Job
from tests.diagnosis.conftest import case_log

pytestmark = pytest.mark.django_db(transaction=True)

EPHEMERAL = "/failures/ephemeral-storage-exhaustion-by-model-weights/"
MULTI_RANK = "lab-disk-full-rank0-torchrun4"


@pytest.fixture(autouse=True)
def failures(transactional_db: None, redis: object) -> None:
    call_command("load_failures", verbosity=0)


def test_pasting_on_a_failure_page_leads_to_rank_and_fix(wide_page: Page, worker: Child) -> None:
    wide_page.goto(EPHEMERAL)
    wide_page.get_by_label("Log or traceback").fill(case_log(MULTI_RANK).decode())
    wide_page.get_by_role("button", name="Diagnose").click()

    expect(wide_page.get_by_role("heading", level=1)).to_contain_text("rank 0", timeout=30_000)
    expect(wide_page).to_have_title(re.compile("Disk Full"))
    expect(wide_page.get_by_text("Rank 0", exact=True)).to_be_visible()
    expect(wide_page.get_by_text("the failure you asked about")).to_be_visible()
    fix = wide_page.get_by_role("region", name="Fix")
    expect(fix).to_contain_text("disk space")
    expect(fix.get_by_role("button", name="Copy").first).to_be_visible()
    expect(fix).to_contain_text("Verify")
    expect(wide_page.locator(".log-evidence").first).to_contain_text("rank0")


def test_first_screen_of_a_phone_holds_the_answer(narrow_page: Page) -> None:
    narrow_page.goto("/d/sample-disk-full/")

    answer = [narrow_page.get_by_text(text, exact=True) for text in ("Rank 0", "High confidence")]
    answer.append(narrow_page.locator(".telling"))
    answer.append(narrow_page.get_by_role("heading", name="Fix"))
    for part in answer:
        box = part.first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 844
    width = narrow_page.evaluate("document.documentElement.scrollWidth")
    assert width == 390


def test_evidence_line_is_a_link_to_itself(wide_page: Page) -> None:
    wide_page.goto("/d/sample-disk-full/")
    line = wide_page.locator(".log-evidence").first

    line.get_by_role("link").click()

    assert wide_page.url.endswith(f"#{line.get_attribute('id')}")


def test_files_from_several_ranks(wide_page: Page, worker: Child, tmp_path: Path) -> None:
    for rank in (0, 1):
        file = tmp_path / f"rank_{rank}.log"
        file.write_bytes(case_log(MULTI_RANK) if rank == 0 else b"step 1\nstep 2\n" * 20)
    wide_page.goto("/diagnose/")

    wide_page.get_by_label("Or choose files").set_input_files(
        [tmp_path / "rank_0.log", tmp_path / "rank_1.log"]
    )
    wide_page.get_by_role("button", name="Diagnose").click()

    expect(wide_page.get_by_role("heading", level=1)).to_contain_text("Disk Full", timeout=30_000)
    expect(wide_page.get_by_role("link", name="rank_1.log")).to_be_visible()


def test_double_click_is_one_job(wide_page: Page) -> None:
    wide_page.goto(EPHEMERAL)
    wide_page.get_by_label("Log or traceback").fill(case_log(MULTI_RANK).decode())

    wide_page.get_by_role("button", name="Diagnose").dblclick()

    expect(wide_page).to_have_url(re.compile(r"/d/[a-z2-7]{26}/$"))
    assert Job.objects.count() == 1


def test_empty_form_is_not_sent(wide_page: Page) -> None:
    wide_page.goto("/diagnose/")
    button = wide_page.get_by_role("button", name="Diagnose")
    expect(button).to_be_disabled()

    button.focus()
    wide_page.keyboard.press("Enter")

    expect(wide_page.get_by_role("alert")).to_contain_text("There is no log here yet.")
    wide_page.get_by_label("Log or traceback").fill("step 1")
    expect(button).to_be_enabled()


@pytest.mark.parametrize("address", ["/", "/diagnose/"])
def test_box_has_the_focus_where_it_is_the_page(wide_page: Page, address: str) -> None:
    wide_page.goto(address)

    expect(wide_page.get_by_label("Log or traceback")).to_be_focused()


@pytest.mark.parametrize("key", ["Control+Enter", "Control+s"])
def test_keys_send_the_log(wide_page: Page, key: str) -> None:
    wide_page.goto("/diagnose/")
    wide_page.keyboard.insert_text(case_log(MULTI_RANK).decode())

    wide_page.keyboard.press(key)

    expect(wide_page).to_have_url(re.compile(r"/d/[a-z2-7]{26}/$"))


def test_files_can_be_dropped_anywhere_on_the_page(wide_page: Page) -> None:
    wide_page.goto(EPHEMERAL)

    wide_page.locator("h1").evaluate(
        """(element) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["step 1"], "rank_0.log"));
            const options = { dataTransfer, bubbles: true, cancelable: true };
            element.dispatchEvent(new DragEvent("drop", options));
        }"""
    )

    names = wide_page.locator("#paste-files").evaluate(
        "(input) => [...input.files].map((file) => file.name)"
    )
    assert names == ["rank_0.log"]
    expect(wide_page.get_by_role("button", name="Diagnose")).to_be_enabled()


def test_allowance_appears_when_the_form_is_used(wide_page: Page) -> None:
    wide_page.goto(EPHEMERAL)
    assert not wide_page.context.cookies()

    wide_page.get_by_label("Log or traceback").focus()

    expect(wide_page.get_by_text("3 of 3 left today")).to_be_visible()


def test_it_works_without_scripts(wide_page: Page, worker: Child) -> None:
    browser = wide_page.context.browser
    assert browser is not None
    wide_page.goto("/diagnose/")
    site = wide_page.url.removesuffix("/diagnose/")
    context = browser.new_context(base_url=site, java_script_enabled=False)
    page = context.new_page()
    try:
        page.goto(EPHEMERAL)
        page.get_by_label("Log or traceback").fill(case_log(MULTI_RANK).decode())
        page.get_by_role("button", name="Diagnose").click()

        expect(page.get_by_role("heading", level=1)).to_contain_text("rank 0", timeout=30_000)
    finally:
        context.close()


def test_delete_now(wide_page: Page, worker: Child) -> None:
    wide_page.goto("/diagnose/")
    wide_page.get_by_label("Log or traceback").fill(case_log(MULTI_RANK).decode())
    wide_page.get_by_role("button", name="Diagnose").click()
    expect(wide_page.get_by_role("heading", level=1)).to_contain_text("rank 0", timeout=30_000)
    address = wide_page.url

    wide_page.get_by_role("button", name="Delete now").click()

    expect(wide_page.get_by_role("heading", level=1)).to_have_text("Deleted")
    response = wide_page.goto(address)
    assert response is not None
    assert response.status == 404
