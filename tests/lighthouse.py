"""Measures pages by Lighthouse: `make lighthouse` (needs node).

Lighthouse varies from run to run, so that the median of five counts. Exits with 1 where a page does
not reach what is asked of it. A verdict is asked nothing of SEO, as it wishes not to be found.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import chromium
from tests.page_list import FAILURE_PAGE
from tests.served import served

VERSION = "12.2.3"  # the last that runs on Node 18 and 20
RUNS = 5
ATTEMPTS = 4
LEAST: Mapping[str, int] = {
    "performance": 95,
    "accessibility": 100,
    "best-practices": 100,
    "seo": 100,
}
LEAST_OF_VERDICT = {name: least for name, least in LEAST.items() if name != "seo"}
PAGES: Mapping[str, Mapping[str, int]] = {
    "/": LEAST,
    "/failures/": LEAST,
    FAILURE_PAGE: LEAST,
    "/d/sample-killed-rank/": LEAST_OF_VERDICT,
}


def main() -> int:
    """Print the median scores of each page; returns the exit status."""
    if shutil.which("npx") is None:
        print("Lighthouse needs node, with npx; there is none on PATH.", file=sys.stderr)
        return 2
    reached = True
    with served() as origin:
        for address, asked in PAGES.items():
            runs = [_scores(f"{origin}{address}") for _ in range(RUNS)]
            medians = {name: statistics.median(run[name] for run in runs) for name in LEAST}
            reached &= all(medians[name] >= least for name, least in asked.items())
            print(address, *(f"{name} {score:.0f}" for name, score in medians.items()), sep="  ")
    return 0 if reached else 1


def _scores(url: str) -> dict[str, float]:
    """Return the scores of one run, of 100; a run that Lighthouse calls broken is made again."""
    for _ in range(ATTEMPTS):
        categories = _run(url)
        if all(categories[name]["score"] is not None for name in LEAST):
            return {name: 100 * categories[name]["score"] for name in LEAST}
    raise SystemExit(f"Lighthouse gave no scores for {url} in {ATTEMPTS} attempts.")


def _run(url: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = (
            *("npx", "--yes", f"lighthouse@{VERSION}", url, "--quiet", "--output=json"),
            *(f"--output-path={report}", f"--chrome-path={chromium.find()}"),
            "--chrome-flags=--headless=new --no-sandbox --disable-gpu",
        )
        # It ends with 1 where a run is broken, and still writes why.
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        categories: dict[str, Any] = json.loads(report.read_text())["categories"]
        return categories


if __name__ == "__main__":
    sys.exit(main())
