"""What a person with a new account does in a browser."""

from __future__ import annotations

import re
import time

import pytest
from django.conf import settings
from django.core.management import call_command
from playwright.sync_api import Page, expect

from denpex.cli_mail import newest
from denpex.mail.models import WaitingMail
from denpex.processes import Child
from diagnosis.models import WelcomeCount
from tests.conftest import PASSWORD
from tests.denpex.accounts.conftest import link_in
from tests.diagnosis.conftest import case_log

pytestmark = pytest.mark.django_db(transaction=True)

LOG = case_log("lab-disk-full-rank0-torchrun4").decode()


@pytest.fixture(autouse=True)
def failures(transactional_db: None, redis: object) -> None:
    call_command("load_failures", verbosity=0)


def read_newest_mail() -> str:
    deadline = time.monotonic() + 30
    while WaitingMail.objects.exists():
        assert time.monotonic() < deadline, "the mail was not sent in time"
        time.sleep(0.05)
    return newest({"DENPEX_DATA": str(settings.DENPEX_DATA)})[0].read_text()


def diagnose(page: Page) -> None:
    page.goto("/diagnose/")
    page.get_by_label("Log or traceback").fill(f"{LOG}\nstep {time.monotonic_ns()}\n")
    page.get_by_role("button", name="Diagnose").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Disk Full", timeout=30_000)


def test_from_sign_up_to_a_diagnosis_of_ones_own(wide_page: Page, worker: Child) -> None:
    wide_page.goto("/")
    wide_page.get_by_role("link", name="Account").click()
    wide_page.get_by_role("link", name="Sign up").click()
    wide_page.get_by_label("E-mail").fill("alice@example.org")
    wide_page.get_by_label("Password").fill(PASSWORD)
    wide_page.get_by_role("button", name="Sign up").click()

    diagnoses = wide_page.get_by_role("region", name="Diagnoses")
    expect(diagnoses).to_contain_text("3 of 3 left today, and 3 extra.")
    expect(wide_page.get_by_role("region", name="E-mail")).to_contain_text("is not verified yet")

    wide_page.goto(link_in(read_newest_mail()))
    wide_page.get_by_role("button", name="Yes, verify it").click()
    expect(wide_page.get_by_role("status")).to_contain_text("alice@example.org is verified.")
    expect(diagnoses).to_contain_text("5 of 5 left today")

    diagnose(wide_page)
    expect(wide_page.get_by_role("region", name="Copy or delete")).to_contain_text(
        "you alone can read them"
    )
    wide_page.get_by_role("link", name="Account").click()
    expect(diagnoses).to_contain_text("5 of 5 left today, and 2 extra.")

    WelcomeCount.objects.update(used=3)
    diagnose(wide_page)
    wide_page.goto("/account/")
    expect(diagnoses).to_have_text(
        re.compile(r"Diagnoses\s*4 of 5 left today. Resets at 00:00 UTC")
    )

    wide_page.get_by_role("banner").get_by_role("link", name="Log out").click()
    wide_page.get_by_role("button", name="Log out").click()
    wide_page.goto("/account/")
    expect(wide_page.get_by_role("heading", level=1)).to_have_text("Log in")


def test_a_wrong_field_is_told_at_the_field(narrow_page: Page) -> None:
    narrow_page.goto("/account/signup/")
    narrow_page.get_by_label("E-mail").fill("alice@example.org")
    narrow_page.get_by_label("Password").fill("12345")
    narrow_page.get_by_role("button", name="Sign up").click()

    password = narrow_page.get_by_label("Password")
    expect(password).to_have_accessible_description(re.compile("too short"))
    expect(narrow_page.get_by_label("E-mail")).to_have_value("alice@example.org")
    assert narrow_page.evaluate("document.documentElement.scrollWidth") == 390
