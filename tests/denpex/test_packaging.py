"""What is installed: pinned, the same everywhere, and nothing by an address."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet

PROJECT = Path(__file__).parents[2]
PIN = re.compile(r"([A-Za-z0-9._-]+)==[0-9][A-Za-z0-9.]*")


def normalized(name: str) -> str:
    """Return the name under which two spellings are one package: PyPA's name normalization."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> list[str]:
    lines = (PROJECT / "requirements.lock").read_text().splitlines()
    return [match[1] if (match := PIN.fullmatch(line)) else line for line in lines]


def test_lock_holds_pins_alone() -> None:
    lines = (PROJECT / "requirements.lock").read_text().splitlines()
    assert [line for line in lines if not PIN.fullmatch(line)] == []
    assert lines == sorted(lines, key=str.lower)


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    groups = (project["dependencies"], *project["optional-dependencies"].values())
    named = {re.split(r"[^\w.-]", line)[0] for group in groups for line in group}
    assert {normalized(n) for n in named} - {normalized(n) for n in pinned()} == set()


def test_every_pin_installs_on_the_oldest_python() -> None:
    oldest = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["requires-python"]
    version = f"{oldest.removeprefix('>=')}.0"
    needs = {
        f"{name} needs Python {python}"
        for name in pinned()
        # async-timeout is for the oldest alone, and so is not installed everywhere.
        if (installed := next(iter(metadata.distributions(name=name)), None))
        if (python := installed.metadata["Requires-Python"])
        if not SpecifierSet(python).contains(version)
    }
    assert needs == set()


def test_package_itself_imports_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import denpex; print(set(sys.modules) - before)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "{'denpex'}"


def test_help_lists_every_target() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):.* ## ", makefile, re.MULTILINE)
    result = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.findall(r"^make ([a-z-]+)", result.stdout, re.MULTILINE) == targets
    assert {"help", "install", "run", "test", "check", "clean"} <= set(targets)
