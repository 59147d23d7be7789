"""Checks the HTML of every page in each of its states: `make html` (needs node).

html-validate knows the element and content rules of the living standard, and more of style than
we hold to: what is switched off has its reason beside it.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import django

VERSION = "10.9.0"  # the last that runs on Node 20
RULES = {
    "doctype-style": ["error", {"style": "lowercase"}],  # both are valid
    "aria-label-misuse": ["error", {"allowAnyNamable": True}],  # lists and regions have names
    "prefer-native-element": ["error", {"exclude": ["region"]}],  # a scrolled table is no section
    "long-title": "off",  # a title holds a whole error message, the telling part first
    "meta-refresh": "off",  # without scripts, a page that waits has no other way to its verdict
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
        pages = _pages()
        for number, (name, html) in enumerate(pages.items()):
            safe = "".join(c if c.isalnum() else "-" for c in name)
            (folder / f"{number:03}-{safe}.html").write_bytes(html)
        command = ("npx", "--yes", f"html-validate@{VERSION}", "--formatter=text", ".")
        done = subprocess.run(command, cwd=folder, check=False)
    print(f"{len(pages)} pages checked" if done.returncode == 0 else "not valid")
    return done.returncode


def _pages() -> dict[str, bytes]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "denpex.settings")
    django.setup()
    logging.disable()
    from tests.every_page import every_page

    return {name: response.content for name, response in every_page().items()}


if __name__ == "__main__":
    sys.exit(main())
