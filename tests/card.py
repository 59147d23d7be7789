"""Draws the picture that other sites show beside a link to a page: `python -m tests.card`."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests import chromium

PROJECT = Path(__file__).parent.parent
SOURCE, CARD = PROJECT / "docs" / "card.svg", PROJECT / "static" / "img" / "card.png"


def draw() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), chromium_sandbox=False
        )
        page = browser.new_page(viewport={"width": 1200, "height": 630})
        page.goto(SOURCE.as_uri())
        page.screenshot(path=CARD)
        browser.close()


if __name__ == "__main__":
    draw()
