"""Processes of their own that all begin at one moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

from tests.conftest import PROJECT


def at_once(commands: Sequence[tuple[str, ...]], environment: Mapping[str, str]) -> list[str]:
    """Run each module with its arguments, and return what each of them says.

    A module says "ready" when it is, waits for a line, does its work, and says what came of it.
    """
    settings = {"DJANGO_SETTINGS_MODULE": "denpex.settings"}
    children = [
        subprocess.Popen(
            (sys.executable, "-m", *command),
            cwd=PROJECT,
            env={**environment, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    try:
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        return [child.communicate(timeout=120)[0].strip() for child in children]
    finally:
        for child in children:
            child.kill()
