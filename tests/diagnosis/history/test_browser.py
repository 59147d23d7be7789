"""What a person does with a history in a browser, until the account is deleted."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from allauth.account.models import EmailAddress
from django.core.management import call_command
from playwright.sync_api import Browser, Page, expect

from denpex.accounts.models import User
from denpex.processes import Child
from diagnosis.history.models import HistoryEntry
from tests.conftest import PASSWORD, MakeAccount
from tests.diagnosis.history.conftest import DISK_FULL, ODD, Diagnosed, numbered

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def failures(transactional_db: None, redis: object) -> None:
    call_command("load_failures", verbosity=0)


def log_in(page: Page) -> None:
    page.goto("/account/login/")
    page.get_by_label("E-mail").fill("alice@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account")


def diagnose(page: Page, log: bytes) -> None:
    page.goto("/diagnose/")
    page.get_by_label("Log or traceback").fill(log.decode())
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("region", name="In your history")).to_be_visible(timeout=30_000)


def test_from_a_verdict_to_deleting_everything(
    wide_page: Page, browser: Browser, site: str, worker: Child, make_account: MakeAccount
) -> None:
    make_account("alice@example.org", verified=True)
    page = wide_page
    log_in(page)

    diagnose(page, ODD)
    diagnose(page, numbered(DISK_FULL, 1))
    diagnose(page, numbered(DISK_FULL, 2))
    expect(page.get_by_text("This is the 2nd time since")).to_be_visible()
    entry = page.get_by_role("region", name="In your history")
    entry.get_by_label("Project").fill("llama")
    entry.get_by_label("Note").fill("after the move to node 2")
    entry.get_by_role("button", name="Save project and note").click()
    expect(entry.get_by_role("status")).to_have_text("Project and note are saved.")
    verdict = page.url.partition("#")[0]

    page.get_by_role("link", name="Account").click()
    expect(page.get_by_role("region", name="What keeps coming back")).to_contain_text("2 times")
    page.get_by_role("region", name="Recent verdicts").get_by_role(
        "link", name="All of your history"
    ).click()
    expect(page.get_by_role("heading", level=2).first).to_have_text("3 verdicts")
    page.get_by_label("Project").select_option("llama")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("heading", level=2).first).to_have_text("1 verdict")
    assert "project=llama" in page.url
    page.get_by_role("link", name=re.compile("Disk Full")).click()
    assert page.url == verdict

    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_role("region", name="In your history").locator("pre code").inner_text()
    stranger = browser.new_context(base_url=site).new_page()
    path = "/d/" + link.partition("/d/")[2]
    stranger.goto(path)
    expect(stranger.get_by_role("heading", level=1)).to_contain_text("rank 0")
    expect(stranger.get_by_text("after the move")).to_have_count(0)
    expect(stranger.get_by_role("button", name="Delete now")).to_have_count(0)
    page.get_by_role("button", name="Withdraw the link").click()
    expect(page.get_by_role("button", name="Make a link")).to_be_visible()
    stranger.reload()
    expect(stranger.get_by_role("heading", level=1)).to_have_text(
        "There is no diagnosis at this address"
    )
    stranger.context.close()

    page.goto("/account/history/")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as ZIP").click()
    exported = zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes()))
    assert sum(name.endswith("/verdict.json") for name in exported.namelist()) == 3

    page.goto("/account/delete/")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Delete everything").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your account is deleted")
    assert not User.objects.exists()
    assert not HistoryEntry.objects.exists()
    assert not EmailAddress.objects.exists()
    page.goto(verdict)
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "There is no diagnosis at this address"
    )


def test_all_verdicts_are_deleted_with_one_confirmation(
    wide_page: Page, make_account: MakeAccount, diagnosed: Diagnosed
) -> None:
    account = make_account("alice@example.org", verified=True)
    diagnosed(account)
    diagnosed(account, ODD)
    log_in(wide_page)
    wide_page.goto("/account/history/")

    wide_page.get_by_role("link", name="Delete all verdicts…").click()
    wide_page.get_by_role("button", name="Delete all verdicts").click()

    expect(wide_page.get_by_role("status")).to_have_text("All verdicts and their logs are deleted.")
    assert not HistoryEntry.objects.exists()


def test_home_page_says_what_an_account_may_do_once_its_box_is_clicked(
    wide_page: Page, make_account: MakeAccount
) -> None:
    make_account("alice@example.org", verified=True)
    log_in(wide_page)
    wide_page.goto("/")
    expect(wide_page.get_by_text("3 a day, no account needed")).to_be_visible()

    wide_page.get_by_label("Log or traceback").click()

    expect(wide_page.get_by_text("5 of 5 left today")).to_be_visible()
    expect(wide_page.get_by_text("kept in your account for 30 days")).to_be_visible()
    expect(wide_page.get_by_text("Without an account, log and verdict")).to_have_count(0)


@pytest.mark.parametrize("width", [320, 390])
def test_every_page_fits_a_narrow_screen(
    narrow_page: Page, alice: User, diagnosed: Diagnosed, width: int
) -> None:
    for number in range(2):
        entry = diagnosed(
            alice,
            numbered(ODD, number),
            project="p" * 80,
            note="n " * 900,
            share_key=f"{number}" * 26,
        )
    narrow_page.set_viewport_size({"width": width, "height": 800})
    log_in(narrow_page)

    for path in (
        *("/account/", "/account/history/", "/account/history/?project=none", "/account/delete/"),
        *(f"/d/{entry.pk}/", f"/d/{entry.share_key}/", f"/d/{entry.pk}/feedback/"),
    ):
        narrow_page.goto(path)
        assert narrow_page.evaluate("document.documentElement.scrollWidth") == width, path


def test_filters_are_folded_where_there_is_no_room(
    narrow_page: Page, alice: User, diagnosed: Diagnosed
) -> None:
    diagnosed(alice)
    log_in(narrow_page)
    narrow_page.goto("/account/history/")
    project = narrow_page.get_by_label("Project")

    expect(project).to_be_hidden()
    narrow_page.get_by_text("Filter", exact=True).first.click()
    expect(project).to_be_visible()

    narrow_page.set_viewport_size({"width": 1280, "height": 800})
    narrow_page.reload()
    expect(project).to_be_visible()


@pytest.mark.parametrize("width", [390, 768])
def test_header_of_an_account_takes_two_rows_at_most(
    narrow_page: Page, alice: User, diagnosed: Diagnosed, width: int
) -> None:
    log_in(narrow_page)
    narrow_page.set_viewport_size({"width": width, "height": 800})

    links = narrow_page.get_by_role("navigation", name="Site").get_by_role("link")
    brand = narrow_page.get_by_role("link", name="Denpex", exact=True).bounding_box()
    last = links.last.bounding_box()
    assert brand is not None
    assert last is not None
    assert last["y"] < brand["y"] + brand["height"]
    search = narrow_page.get_by_label("Search failures")
    assert search.evaluate("(field) => field.clientWidth") > 180


def test_kept_verdict_is_deleted_in_two_steps(
    narrow_page: Page, alice: User, diagnosed: Diagnosed
) -> None:
    entry = diagnosed(alice)
    log_in(narrow_page)
    narrow_page.goto(f"/d/{entry.pk}/")

    expect(narrow_page.get_by_role("button", name="Delete now")).to_be_hidden()
    narrow_page.get_by_text("Delete this verdict").click()
    narrow_page.get_by_role("button", name="Delete now").click()

    expect(narrow_page.get_by_role("status")).to_have_text("Verdict and log are deleted.")
    expect(narrow_page).to_have_url(re.compile("/account/history/$"))


def test_the_form_of_a_verdict_is_reached_by_keyboard(
    narrow_page: Page, alice: User, diagnosed: Diagnosed
) -> None:
    entry = diagnosed(alice)
    log_in(narrow_page)
    narrow_page.goto(f"/d/{entry.pk}/")

    narrow_page.get_by_label("Project").focus()
    narrow_page.keyboard.type("llama")
    narrow_page.keyboard.press("Tab")
    narrow_page.keyboard.type("by keyboard")
    narrow_page.keyboard.press("Tab")
    narrow_page.keyboard.press("Enter")

    expect(narrow_page.get_by_role("status")).to_have_text("Project and note are saved.")
    entry.refresh_from_db()
    assert (entry.project, entry.note) == ("llama", "by keyboard")


def test_the_queues_obey_the_content_security_policy(
    wide_page: Page, make_account: MakeAccount, alice: User, diagnosed: Diagnosed
) -> None:
    """The page fixture fails where the policy is broken."""
    diagnosed(alice, ODD)
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    log_in(wide_page)

    wide_page.goto("/staff/diagnosis/unknownfailure/")
    wide_page.get_by_role("checkbox").last.check()
    wide_page.locator("select[name=action]").select_option("mark_done")
    wide_page.get_by_role("button", name=re.compile("Go|Run")).click()

    expect(wide_page.get_by_text("0 unknown failures")).to_be_visible()
