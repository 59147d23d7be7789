"""Takes the picture of a verdict that the README shows: `python -m tests.screenshot`."""

from __future__ import annotations

from playwright.sync_api import sync_playwright

from tests import chromium
from tests.served import PROJECT, served

ADDRESS = "/d/sample-disk-full/"
PICTURE = PROJECT / "docs" / "verdict.png"


def take() -> None:
    with served() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), chromium_sandbox=False
        )
        page = browser.new_page(
            viewport={"width": 1200, "height": 1000}, color_scheme="light", reduced_motion="reduce"
        )
        page.goto(f"{origin}{ADDRESS}", wait_until="networkidle")
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    take()
