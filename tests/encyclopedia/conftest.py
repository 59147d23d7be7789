"""A small catalogue of three failures: a cause, its look-alike, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from diagnosis.engine.compiled import Compiled, compile_catalogue
from encyclopedia.catalogue import Catalogue, load

FOLDER = Path(__file__).parent / "failures"


@pytest.fixture(scope="session")
def small_catalogue() -> Catalogue:
    return load(FOLDER)


@pytest.fixture(scope="session")
def small_engine(small_catalogue: Catalogue) -> Compiled:
    return compile_catalogue(small_catalogue, "small")


@pytest.fixture
def _asks_the_small_engine(small_engine: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let search ask an engine that knows the small catalogue, as the database does."""
    from encyclopedia import search

    monkeypatch.setattr(search, "compiled", lambda: small_engine)


@pytest.fixture
def failures(db: None, small_catalogue: Catalogue) -> Catalogue:
    """Load the small catalogue into the database."""
    from encyclopedia import sync

    sync.load_failures(small_catalogue)
    return small_catalogue


@pytest.fixture(autouse=True)
def _origin(settings: Settings) -> None:
    settings.DENPEX_ORIGIN = "https://denpex.example"
