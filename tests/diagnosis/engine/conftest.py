from pathlib import Path

import pytest

from denpex.evaluation import Case, read_cases
from diagnosis.engine import Compiled, LogFile, diagnose, load_compiled
from tests.diagnosis.engine.metamorphic import Sample


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The real catalogue, compiled once, in a cache of its own."""
    return load_compiled(cache=Path(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def cases_folder() -> Path:
    """Where the open cases are."""
    return Path(__file__).parents[2] / "cases"


@pytest.fixture(scope="session")
def cases(cases_folder: Path) -> list[Case]:
    """The open cases."""
    return read_cases(cases_folder)


@pytest.fixture(scope="session")
def samples(cases: list[Case], compiled: Compiled) -> list[Sample]:
    """Each open case with the verdict on it, diagnosed once."""
    return [
        Sample(case, diagnose([LogFile("log.txt", case.log)], compiled), compiled) for case in cases
    ]
