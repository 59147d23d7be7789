"""Builds the inputs once, and prints the ratios that the README quotes at the end."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.inputs import dense_log, for_other_tools, healthy_log, patterns

MEGABYTE = 1_000_000
LOG_BYTES = 50 * MEGABYTE
# (what, seconds) by measurement; filled by the tests, read by the summary.
RESULTS: dict[str, float] = {}
NOTES: list[str] = []


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the two logs and the patterns as other tools read them."""
    path = tmp_path_factory.mktemp("bench")
    (path / "healthy.log").write_bytes(healthy_log(LOG_BYTES))
    (path / "dense.log").write_bytes(dense_log(LOG_BYTES))
    (path / "patterns.txt").write_text("\n".join(map(for_other_tools, patterns())) + "\n")
    return path


@pytest.fixture
def measured() -> Callable[[str, float], None]:
    """Keep the seconds of a measurement under its name."""
    return RESULTS.__setitem__


@pytest.fixture
def noted() -> Callable[[str], None]:
    """Keep a line for the summary."""
    return NOTES.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the ratios side by side, and the machine they were measured on."""
    write = terminalreporter.write_line
    terminalreporter.section("Ratios")
    write(f"{platform.machine()}, Python {platform.python_version()}, {platform.platform()}")
    for name, other in (
        ("scan, healthy log", "grep -E, healthy log"),
        ("scan, dense log", "grep -E, dense log"),
        ("scan, healthy log", "re alternation, healthy log"),
        ("mask and diagnose, healthy log", "rg, healthy log"),
        ("mask and diagnose, dense log", "rg, dense log"),
    ):
        if name in RESULTS and other in RESULTS:
            write(
                f"{name}: {RESULTS[name]:.3f} s; {other}: {RESULTS[other]:.3f} s;"
                f" {RESULTS[other] / RESULTS[name]:.1f} times as fast"
            )
    for note in NOTES:
        write(note)
