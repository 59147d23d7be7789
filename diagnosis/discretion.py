"""Errors of the engine, told without quoting the log.

The message of an exception may hold a piece of what was being read, and messages end up in
application logs. So only its kind and its place are passed on.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import PurePath

__all__ = ["EngineError", "quoting_nothing"]

_FRAMES = 3


class EngineError(Exception):
    """The engine failed on a log: a fault of ours. The message names kind and place alone."""


@contextlib.contextmanager
def quoting_nothing(*, except_for: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn any exception of the block into an EngineError, `except_for` some that quote nothing."""
    try:
        yield
    except except_for:
        raise
    except Exception as error:  # noqa: BLE001
        raise EngineError(_place(error)) from None


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = (
        f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )
    return f"{type(error).__name__} at {' < '.join(places)}"
