"""Settings that follow from the environment, read by a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

SHOW = """
import json
from denpex import settings
print(json.dumps(settings.DATABASES["default"], default=str))
"""


def database(address: str) -> dict[str, Any]:
    environment = {**os.environ, "DATABASE_URL": address}
    shown = subprocess.run(
        [sys.executable, "-c", SHOW], env=environment, capture_output=True, check=True
    )
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def test_what_the_address_asks_of_the_connection_is_asked() -> None:
    options = database("postgresql://denpex:x@db/denpex?sslmode=verify-full")["OPTIONS"]
    assert options["sslmode"] == "verify-full"
    assert options["pool"]["max_size"] == 8


def test_an_address_that_asks_nothing_gets_the_pool_alone() -> None:
    assert list(database("postgresql://denpex:x@db/denpex")["OPTIONS"]) == ["pool"]
