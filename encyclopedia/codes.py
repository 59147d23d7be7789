"""Codes by which people name a failure: `Xid 79`, `exit code 137`, `SIGBUS`, `ncclRemoteError`."""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from encyclopedia.cuda_errors import CUDA_ERRORS, DRIVER_NAMES

__all__ = ["Kind", "code_in_text", "compact", "key_of", "kind_of"]

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


def _cuda_key(number: str) -> str:
    name = CUDA_ERRORS.get(int(number))
    return _name_key(name) if name else f"cuda-error-{int(number)}"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of codes: what it is called, how its codes are written, and what their keys are.

    `note` says what the code alone tells, and `source` is who lists all of them.
    """

    name: str
    plural: str
    written: re.Pattern[str]
    key: Callable[[str], str | None]
    keys: re.Pattern[str]
    note: str = ""
    source: str = ""

    def label_of(self, text: str) -> str:
        """Return the code that `text` is, as people write it."""
        found = self.written.fullmatch(text.strip().lower())
        return f"{self.name} {_number(found)}" if found else text

    def has(self, key: str) -> bool:
        """Say whether `key` is that of a code of this kind."""
        return self.keys.fullmatch(key) is not None


_ERRNO_NAMES = "|".join(name.lower() for name in errno.errorcode.values())
_KINDS: Sequence[Kind] = (
    Kind(
        "Xid",
        "Xids",
        re.compile(r"xid[\s:#-]*(\d{1,4})", re.ASCII),
        lambda number: f"xid-{int(number)}",
        re.compile(r"xid-\d+"),
        note="NVIDIA lists every Xid, with what to do after it.",
        source="https://docs.nvidia.com/deploy/xid-errors/",
    ),
    Kind(
        "exit code",
        "exit codes",
        re.compile(r"exit(?:ed)?[\s_-]*(?:with\s+)?(?:code|status)?[\s:=-]*?(-?\d{1,3})", re.ASCII),
        _exit_key,
        re.compile(r"exit-\d+"),
        note="From 129 on it is mostly 128 plus the number of a signal. Below, the program chose it"
        " itself, 1 after most errors: the error stands above it in the log.",
    ),
    Kind(
        "signal",
        "signals",
        re.compile(r"signal[\s:#-]*(\d{1,2})", re.ASCII),
        _signal_key,
        re.compile(r"sig[a-z0-9]+"),
    ),
    Kind(
        "errno",
        "errno values",
        re.compile(r"\[?errno[\s:#-]*(\d{1,3})\]?", re.ASCII),
        _errno_key,
        re.compile(_ERRNO_NAMES),
    ),
    Kind(
        "CUDA error",
        "CUDA errors",
        re.compile(r"cuda(?:[\s_-]*error[\s:#-]*(\d{1,3})|[\s_-]*([1-9]\d\d))", re.ASCII),
        _cuda_key,
        re.compile(r"cuda-error-.+"),
        note="NVIDIA lists every CUDA error with its number.",
        source="https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html",
    ),
)
# Signals.SIGKILL: the name of a signal within a sentence.
_SIGNAL_NAME = re.compile(r"(?<![^\W_])sig[a-z0-9]{2,6}(?![^\W_])", re.ASCII)
_SIGNALS = frozenset(each.name.lower() for each in signal.Signals)
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
    for kind in _KINDS:
        if found := kind.written.fullmatch(words.lower()):
            return kind.key(_number(found))
    return _name_key(words) if _NAME.fullmatch(words) else None


def kind_of(text: str) -> Kind | None:
    """Return the kind of numbered code that `text` is as a whole, or None."""
    words = text.strip().lower()
    return next((kind for kind in _KINDS if kind.written.fullmatch(words)), None)


def code_in_text(text: str) -> str | None:
    """Return the key of the first code that stands in `text`, by number or signal; or None."""
    words = text.lower()
    found = [
        (match.start(), kind.key(_number(match)))
        for kind in _KINDS
        if (match := re.search(rf"(?<!\w)(?:{kind.written.pattern})(?!\w)", words, re.ASCII))
    ]
    found += [
        (match.start(), match[0]) for match in _SIGNAL_NAME.finditer(words) if match[0] in _SIGNALS
    ]
    return min((each for each in found if each[1]), default=(0, None))[1]


def compact(key: str) -> str:
    """Return `key` without its hyphens: `oomkilled` is `OOMKilled` too."""
    return key.replace("-", "")


def _number(found: re.Match[str]) -> str:
    return str(found[found.lastindex or 0])


def _name_key(name: str) -> str:
    key = _hyphenated(name)
    return _RUNTIME_KEYS.get(key, key)


def _hyphenated(name: str) -> str:
    return _BETWEEN_WORDS.sub("-", _INNER_WORD.sub("-", name)).lower()


_RUNTIME_KEYS = {_hyphenated(driver): _hyphenated(name) for driver, name in DRIVER_NAMES.items()}
