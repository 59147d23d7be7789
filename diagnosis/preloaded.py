"""The compiled catalogue of this process: loaded once, inherited by the processes it forks."""

from __future__ import annotations

import functools

from diagnosis.engine import Compiled, load_compiled

__all__ = ["compiled"]


@functools.cache
def compiled() -> Compiled:
    """Return the compiled catalogue."""
    return load_compiled()
