"""Checks the HTML of one page of each kind: `make html` (needs node).

html-validate knows the element and content rules of the living standard, and more of style than
we hold to: what is switched off has its reason beside it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from tests.page_list import PAGES
from tests.served import served

VERSION = "10.9.0"  # the last that runs on Node 20
RULES = {
    "doctype-style": ["error", {"style": "lowercase"}],  # both are valid
    "aria-label-misuse": ["error", {"allowAnyNamable": True}],  # lists and regions have names
    "prefer-native-element": ["error", {"exclude": ["region"]}],  # a scrolled table is no section
    "long-title": "off",  # a title holds a whole error message, the telling part first
    "no-inline-style": "error",
    "require-sri": "off",  # nothing is loaded from elsewhere
    "no-trailing-whitespace": "off",  # is what a template leaves
}


def main() -> int:
    """Print what is wrong; returns the exit status of html-validate."""
    if shutil.which("npx") is None:
        print("html-validate needs node, with npx; there is none on PATH.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        config = {"root": True, "extends": ["html-validate:standard", "html-validate:a11y"]}
        (folder / ".htmlvalidate.json").write_text(json.dumps(config | {"rules": RULES}))
        with served() as origin:
            for number, address in enumerate(PAGES):
                name = "".join(c if c.isalnum() else "-" for c in address.strip("/")) or "home"
                (folder / f"{number:02}-{name}.html").write_bytes(_page(origin + address))
        command = ("npx", "--yes", f"html-validate@{VERSION}", "--formatter=text", ".")
        done = subprocess.run(command, cwd=folder, check=False)
    print(f"{len(PAGES)} pages checked" if done.returncode == 0 else "not valid")
    return done.returncode


def _page(url: str) -> bytes:
    """Return the body of the page at `url`; that of an error page as well."""
    try:
        with urllib.request.urlopen(url) as response:
            body: bytes = response.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    return body


if __name__ == "__main__":
    sys.exit(main())
