"""Draws every page in each of its states, to be looked at: `make screenshots`.

They land in build/screenshots/, by width and theme. PAGES= chooses those whose name holds a word.
Exits with 1 where a page is wider than its window.
"""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import django
from playwright.sync_api import sync_playwright

from tests import chromium
from tests.served import PROJECT, served
from tests.shown import show

if TYPE_CHECKING:
    from django.http import HttpResponse
    from playwright.sync_api import Page

FOLDER = PROJECT / "build" / "screenshots"
WIDTHS = (390, 768, 1440)
THEMES: Sequence[Literal["light", "dark"]] = ("light", "dark")


def main() -> int:
    """Draw the pages; returns the exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "denpex.settings")
    django.setup()
    logging.disable()
    from tests.every_page import every_page

    word = os.environ.get("PAGES", "")
    pages = {name: page for name, page in every_page().items() if word in name}
    # Playwright's synchronous interface keeps an event loop, where Django would refuse to work.
    with served() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.find(), chromium_sandbox=False
        )
        wide = 0
        for width, theme in itertools.product(WIDTHS, THEMES):
            context = browser.new_context(
                base_url=origin,
                viewport={"width": width, "height": 900},
                color_scheme=theme,
            )
            wide += _draw(context.new_page(), pages, FOLDER / f"{width}-{theme}", width)
            context.close()
        browser.close()
    print(f"{len(pages)} pages are in {FOLDER}, each {len(WIDTHS) * len(THEMES)} times")
    return 1 if wide else 0


def _draw(page: Page, pages: Mapping[str, HttpResponse], folder: Path, width: int) -> int:
    """Draw the pages into a folder; returns how many are wider than the window."""
    shutil.rmtree(folder, ignore_errors=True)
    wide = 0
    for name, response in pages.items():
        show(page, response)
        needed = page.evaluate("document.documentElement.scrollWidth")
        if needed > width:
            print(f"{name} needs {needed} px of {width}", file=sys.stderr)
            wide += 1
        safe = "".join(c if c.isalnum() else "-" for c in name)
        page.screenshot(path=folder / f"{safe}.png", full_page=True)
    return wide


if __name__ == "__main__":
    sys.exit(main())
