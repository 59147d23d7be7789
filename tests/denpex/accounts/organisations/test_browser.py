"""What a person does who evaluates Denpex at work: from signing up to the day's last diagnosis."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from denpex.accounts.models import User
from denpex.accounts.organisations.models import EvaluationRequest
from denpex.accounts.standing import tier_of
from denpex.processes import Child
from diagnosis.senders import Sender
from diagnosis.submission import Submission, submit
from diagnosis.visitors import Visitor
from tests.conftest import PASSWORD, MakeAccount
from tests.denpex.accounts.conftest import link_in
from tests.denpex.accounts.organisations.conftest import WORK, code_in, requested
from tests.denpex.accounts.test_browser import diagnose, read_newest_mail

pytestmark = pytest.mark.django_db(transaction=True)

EMAIL = "someone.invented@gmail.com"


@pytest.fixture(autouse=True)
def failures(transactional_db: None, redis: object) -> None:
    call_command("load_failures", verbosity=0)


def log_in(page: Page, email: str, path: str = "/account/") -> None:
    page.goto(f"/account/login/?next={path}")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def diagnose_until_one_is_left(account: User, left: int) -> None:
    """Send logs as the paste form does, without waiting for their verdicts."""
    sender = Sender(tier_of(account), Visitor("203.0.113.7", None), account)
    for number in range(left - 1):
        submit(Submission(f"[rank1]: RuntimeError: run {number}\n" * 4), sender)


def test_from_sign_up_to_the_fiftieth_diagnosis(wide_page: Page, worker: Child) -> None:
    page = wide_page
    page.goto("/account/evaluation/")
    page.get_by_role("link", name="account", exact=True).click()
    page.get_by_label("E-mail").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Request an evaluation code")

    page.goto(link_in(read_newest_mail()))
    page.get_by_role("button", name="Yes, verify it").click()
    for _ in range(3):
        diagnose(page)
    page.goto("/account/")
    diagnoses = page.get_by_role("region", name="Diagnoses")
    expect(diagnoses).to_contain_text("5 of 5 left today")

    page.get_by_role("link", name="Evaluate Denpex at your workplace").click()
    page.get_by_role("link", name="Request a code").click()
    page.get_by_label("Work e-mail").fill("alice@gmail.com")
    page.get_by_label("Organisation").fill("The Lab")
    page.get_by_label("What you would use it for").fill("Runs of 512 ranks.")
    page.get_by_role("button", name="Send the link").click()
    work_email = page.get_by_label("Work e-mail")
    expect(work_email).to_have_accessible_description(re.compile("Everybody can have an address"))
    expect(page.get_by_label("What you would use it for")).to_have_value("Runs of 512 ranks.")
    work_email.fill(WORK)
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("status")).to_contain_text(f"A link is on its way to {WORK}.")

    page.goto(link_in(read_newest_mail()))
    page.get_by_role("button", name="Yes, it is mine").click()
    expect(page.get_by_role("status")).to_contain_text("the code is on its way there")
    page.get_by_role("textbox", name="Code").fill("ABCD-EFGH")
    page.get_by_role("button", name="Redeem").click()
    expect(page.get_by_role("alert")).to_contain_text("We know no such code.")
    page.get_by_role("textbox", name="Code").fill(code_in(read_newest_mail()))
    page.get_by_role("button", name="Redeem").click()

    expect(page.get_by_role("status")).to_contain_text("50 diagnoses a day until")
    expect(diagnoses).to_contain_text("50 of 50 left today")
    expect(page.get_by_role("region", name="Workplace")).to_contain_text("ends by itself")
    diagnose_until_one_is_left(User.objects.get(email=EMAIL), 50)
    page.reload()
    expect(diagnoses).to_contain_text("1 of 50 left today")
    diagnose(page)
    page.goto("/account/")
    expect(diagnoses).to_contain_text("None of 50 left today")

    page.goto("/diagnose/")
    page.get_by_label("Log or traceback").fill("[rank1]: RuntimeError: the 51st\n" * 4)
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("alert").first).to_contain_text("the 50 diagnoses of today")


def test_typed_request_survives_a_log_out_in_between(
    narrow_page: Page, make_account: MakeAccount
) -> None:
    make_account(EMAIL)
    page = narrow_page
    log_in(page, EMAIL, "/account/evaluation/request/")
    page.get_by_label("Work e-mail").fill(WORK)
    page.get_by_label("Organisation").fill("The Lab")
    page.get_by_label("What you would use it for").fill("Runs of 512 ranks.")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Send the link").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    page.get_by_label("E-mail").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_label("Work e-mail")).to_have_value(WORK)
    expect(page.get_by_label("What you would use it for")).to_have_value("Runs of 512 ranks.")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("status")).to_contain_text("A link is on its way")
    page.goto("/account/")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_staff_review_a_request_in_the_admin(wide_page: Page, make_account: MakeAccount) -> None:
    """No page of it breaks the content security policy, which the fixture looks at."""
    make_account("sam@example.net", is_staff=True)
    requested(make_account(EMAIL), "alice@mailinator.com")
    EvaluationRequest.objects.update(state="in_review", is_suspected=True)
    page = wide_page
    log_in(page, "sam@example.net", "/staff/")

    page.get_by_role("link", name="1 request to review").click()
    page.get_by_role("checkbox").nth(1).check()
    page.get_by_label("Action:").select_option("Approve: it is a workplace")
    page.get_by_role("button", name="Run").or_(page.get_by_role("button", name="Go")).click()
    expect(page.get_by_text("1 approved.")).to_be_visible()

    for path in (
        "accounts/user/",
        f"accounts/user/{User.objects.get(email=EMAIL).pk}/change/",
        "accounts/grant/add/",
        "organisations/organisation/",
        "organisations/evaluationcode/add/",
        "organisations/auditentry/",
    ):
        page.goto(f"/staff/{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
