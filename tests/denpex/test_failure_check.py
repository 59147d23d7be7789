"""What `denpex check` finds wrong with a fix; the catalogue as it stands is checked by it whole."""

from __future__ import annotations

import dataclasses

import pytest

from denpex.failure_check import code_problems, fix_faults
from encyclopedia.catalogue import Failure, Section, load


@pytest.fixture(scope="module")
def failure() -> Failure:
    """Return a failure whose captures know a `module`."""
    return load().failures["python-module-missing"]


def faults(failure: Failure, command: str) -> list[str]:
    fix = dataclasses.replace(failure.fix, command=command, verify=None)
    return [fault for _key, fault in fix_faults(dataclasses.replace(failure, fix=fix))]


def test_it_works(failure: Failure) -> None:
    assert list(fix_faults(failure)) == []


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m pip install '<module>'",
        "srun pip install --upgrade '<module>'",
        "uv pip install '<module>'",
        "conda install -y '<module>'",
        "cd /tmp && git clone '<module>'",
        "curl -O '<module>'",
        "docker run --rm '<module>'",
    ],
)
def test_command_must_not_install_what_a_log_names(failure: Failure, command: str) -> None:
    """A log that says "No module named 'git+https://…'" would choose what its reader installs."""
    (fault,) = faults(failure, command)

    assert "<module>" in fault


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m pip install '<package>'",
        "pip install --upgrade pip; python3 -m pydoc '<module>'",
        "python3 -m pip show '<module>'",
    ],
)
def test_command_may_look_at_what_a_log_names(failure: Failure, command: str) -> None:
    assert faults(failure, command) == []


def test_command_must_parse(failure: Failure) -> None:
    (fault,) = faults(failure, "echo 'unended")

    assert "does not parse" in fault


def test_code_in_a_list_must_parse(failure: Failure) -> None:
    section = Section("Fix", "1. Set it:\n\n   ```python\n   x = (\n   ```\n")

    (problem,) = code_problems(dataclasses.replace(failure, sections=(section,)))

    assert "the python block" in problem.message
