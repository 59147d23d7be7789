"""The Chromium that browser tests use: the system's, else one that is installed for them.

`python -m tests.chromium` sees to it that there is one: the system's; where this is root and there
is apt-get, Debian's; otherwise Playwright's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

__all__ = ["find", "install"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Return the program of a Chromium on PATH that runs; None where there is none."""
    found = filter(None, (shutil.which(name) for name in NAMES))
    return next(filter(_runs, found), None)


def _runs(program: str) -> bool:
    # Some distributions ship a script that only says where to get the browser.
    command = (program, "--version")
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def install() -> None:
    """Install a Chromium where there is none; raises CalledProcessError where that fails."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        options = ("--quiet=2", "--no-install-recommends")
        subprocess.run(("apt-get", "update", "--quiet=2"), env=quiet, check=False)
        subprocess.run(
            ("apt-get", "install", *options, "chromium"),
            env=quiet,
            stdout=subprocess.DEVNULL,
            check=False,
        )
    if find() is None:
        dependencies = ("--with-deps",) if os.geteuid() == 0 else ()
        command = (sys.executable, "-m", "playwright", "install", *dependencies, "chromium")
        subprocess.run(command, check=True)


if __name__ == "__main__" and find() is None:
    install()
