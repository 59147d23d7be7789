"""A small catalogue of three failures: a cause, its look-alike, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from encyclopedia.catalogue import Catalogue, load

FOLDER = Path(__file__).parent / "failures"


@pytest.fixture(scope="session")
def small_catalogue() -> Catalogue:
    return load(FOLDER)


@pytest.fixture
def failures(db: None, small_catalogue: Catalogue) -> Catalogue:
    """Load the small catalogue into the database."""
    from encyclopedia import sync

    sync.load_failures(small_catalogue)
    return small_catalogue


@pytest.fixture(autouse=True)
def _origin(settings: Settings) -> None:
    settings.DENPEX_ORIGIN = "https://denpex.example"
