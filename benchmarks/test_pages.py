"""How fast pages are served, beside a view that does nothing, on the same gunicorn in one run."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator

import pytest

from benchmarks.load import requests_a_second
from tests.page_list import FAILURE_PAGE
from tests.served import served

Noted = Callable[[str], None]
EMPTY = "/empty/"  # see benchmarks.site
ROUNDS, SECONDS = 5, 3.0


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Serve the site with one worker; PostgreSQL and Valkey are those that `make bench` starts."""
    with served("benchmarks.site:application") as address:
        yield address


def test_a_failure_page_beside_an_empty_view(origin: str, noted: Noted) -> None:
    """Measure in turns, so that whatever else the machine does slows both alike."""
    url = origin + FAILURE_PAGE
    with urllib.request.urlopen(url) as response:
        etag = response.headers["ETag"]
    asked = {
        "empty view": (origin + EMPTY, {}),
        "failure page": (url, {"Accept_Encoding": "gzip"}),
        "failure page, known already (304)": (url, {"If_None_Match": etag}),
    }
    best = dict.fromkeys(asked, 0.0)
    for _ in range(ROUNDS):
        for name, (address, headers) in asked.items():
            best[name] = max(best[name], requests_a_second(address, SECONDS, **headers))
    for name, rate in best.items():
        noted(f"{name}: {rate:.0f} requests/s, {rate / best['empty view']:.0%} of an empty view")
