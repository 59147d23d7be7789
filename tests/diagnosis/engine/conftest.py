from pathlib import Path

import pytest

from diagnosis.engine import Compiled, load_compiled


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """The real catalogue, compiled once, in a cache of its own."""
    return load_compiled(cache=Path(tmp_path_factory.mktemp("cache")))
