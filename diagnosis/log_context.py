"""Facts that every log line carries while they are bound: which job, which task."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

__all__ = ["bound", "install"]

_fields: ContextVar[Mapping[str, str]] = ContextVar("log_fields", default=MappingProxyType({}))


@contextlib.contextmanager
def bound(**fields: str) -> Iterator[None]:
    """Add `fields` to every log record made inside the block."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


def install() -> None:
    """Make log records of this process carry the bound fields; called once, at start."""
    make = logging.getLogRecordFactory()

    def make_with_fields(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        vars(record).update(_fields.get())
        return record

    logging.setLogRecordFactory(make_with_fields)
