"""Shows an answer of the site in a browser that did not ask for it: `show(page, response)`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.http import HttpResponse

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

__all__ = ["show"]

_ADDRESS = "/shown/"


def show(page: Page, response: HttpResponse) -> None:
    """Let a page of the site show `response`; its styles and scripts come from the site.

    Whatever else its scripts ask for stays unanswered, so that a page that waits keeps waiting.
    """

    def answer(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path == _ADDRESS:
            route.fulfill(
                status=response.status_code,
                headers=dict(response.headers),
                body=response.content,
            )
        elif path.startswith("/static/"):
            route.continue_()
        else:
            route.abort()

    # Left before its requests may reach the site: it would take the answer for its own, and reload.
    page.goto("about:blank")
    page.unroute_all()
    page.route("**/*", answer)
    page.goto(_ADDRESS)
