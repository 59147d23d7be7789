"""Draws the pictures that other sites and browsers show for a page: `python -m tests.card`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests import chromium

PROJECT = Path(__file__).parent.parent
IMAGES = PROJECT / "static" / "img"


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, and the file and the size in pixels that it becomes."""

    source: Path
    target: Path
    width: int
    height: int
    is_transparent: bool = False


PICTURES = (
    Picture(PROJECT / "docs" / "card.svg", IMAGES / "card.png", 1200, 630),
    Picture(IMAGES / "mark.svg", IMAGES / "favicon.png", 48, 48, is_transparent=True),
    Picture(IMAGES / "mark.svg", IMAGES / "apple-touch-icon.png", 180, 180),
)


def draw() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), chromium_sandbox=False
        )
        for picture in PICTURES:
            page = browser.new_page(viewport={"width": picture.width, "height": picture.height})
            page.goto(picture.source.as_uri())
            page.screenshot(path=picture.target, omit_background=picture.is_transparent)
        browser.close()


if __name__ == "__main__":
    draw()
