"""Codes by which people name a failure: `Xid 79`, `exit code 137`, `SIGBUS`, `ncclRemoteError`."""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Callable, Sequence

__all__ = ["code_in_text", "compact", "key_of"]

# A shell shows the end by signal N as this plus N, Python's subprocess as -N.
_SIGNAL_STATUS = 128


def _exit_key(number: str) -> str:
    status = int(number)
    return f"exit-{_SIGNAL_STATUS - status if status < 0 else status}"


def _signal_key(number: str) -> str | None:
    try:
        return signal.Signals(int(number)).name.lower()
    except ValueError:
        return None


def _errno_key(number: str) -> str | None:
    name = errno.errorcode.get(int(number))
    return name.lower() if name else None


# How a code with a number is written, and its key.
_NUMBERED: Sequence[tuple[re.Pattern[str], Callable[[str], str | None]]] = (
    (re.compile(r"xid[\s:#-]*(\d{1,4})", re.ASCII), lambda number: f"xid-{int(number)}"),
    (
        re.compile(r"exit(?:ed)?[\s_-]*(?:with\s+)?(?:code|status)?[\s:=-]*?(-?\d{1,3})", re.ASCII),
        _exit_key,
    ),
    (re.compile(r"signal[\s:#-]*(\d{1,2})", re.ASCII), _signal_key),
    (re.compile(r"\[?errno[\s:#-]*(\d{1,3})\]?", re.ASCII), _errno_key),
)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[\s_.-]+[a-z0-9]+)*", re.ASCII | re.IGNORECASE)
# ncclRemoteError, OOMKilled: where a word begins within a name.
_INNER_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN_WORDS = re.compile(r"[\s_.-]+")


def key_of(text: str) -> str | None:
    """Return the key of a code, as it stands in its short address; None where `text` is no code.

    `exit code 137`, `exitcode: -9` and `exit-137` are one code, and so are `ncclRemoteError` and
    `NCCL_REMOTE_ERROR`.
    """
    words = text.strip()
    for pattern, key in _NUMBERED:
        if found := pattern.fullmatch(words.lower()):
            return key(found[1])
    if not _NAME.fullmatch(words):
        return None
    return _BETWEEN_WORDS.sub("-", _INNER_WORD.sub("-", words)).lower()


def code_in_text(text: str) -> str | None:
    """Return the key of the first numbered code that stands in `text`, or None."""
    found = (
        (match.start(), key(match[1]))
        for pattern, key in _NUMBERED
        if (match := re.search(rf"(?<!\w){pattern.pattern}(?!\w)", text.lower(), re.ASCII))
    )
    return min((each for each in found if each[1]), default=(0, None))[1]


def compact(key: str) -> str:
    """Return `key` without its hyphens: `oomkilled` is `OOMKilled` too."""
    return key.replace("-", "")
