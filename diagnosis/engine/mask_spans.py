"""What the finders of masking share: spans, and how a secret is told from what stands for one."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = [
    "JUDGED",
    "LINE_END",
    "NOTHING",
    "Find",
    "Found",
    "Range",
    "Span",
    "end_of",
    "has_both_cases",
    "has_digit",
    "is_placeholder",
    "is_random",
]

Range = tuple[int, int]
# Start, end, kind, and what the value is known by: equal values get equal placeholders.
Span = tuple[int, int, str, bytes]
# The spans, and the offset up to which this mask need not look again.
Found = tuple[list[Span], int]
# (text, lowest offset to look at, end of the hit, least and most bytes back to the match's start)
Find = Callable[[bytes, int, int, int, int], Found]

NOTHING: Found = ([], 0)
LINE_END = re.compile(rb"\r?\n|\r")
# Enough of a long value to judge it by.
JUDGED = 256

# Others' placeholders, and what documentation prints where a secret would stand.
_STAND_IN_BEGINS = (b"<", b"%", b"$", b"{", b"[", b"&lt;")
_STAND_IN_HOLDS = (
    b"***",
    b"...",
    b"\xe2\x80\xa6",
    b"xxxxx",
    b"redacted",
    b"masked",
    b"your_",
    b"your-",
)
# So many characters of only two sorts fill a place.
_FILLER = 8
_DIGIT = re.compile(rb"\d")
_BOTH_CASES = re.compile(rb"[a-z].*[A-Z]|[A-Z].*[a-z]", re.DOTALL)


def is_placeholder(value: bytes) -> bool:
    """Say whether the value only stands for a secret."""
    judged = value[:JUDGED].lower()
    if judged.startswith(_STAND_IN_BEGINS):
        return True
    for mark in _STAND_IN_HOLDS:
        if mark in judged:
            return True
    return len(judged) >= _FILLER and len(set(value[:JUDGED])) <= 2


def has_digit(value: bytes) -> bool:
    """Say whether there is a digit in what is judged of the value."""
    return bool(_DIGIT.search(value[:JUDGED]))


def has_both_cases(value: bytes) -> bool:
    """Say whether there are capitals and small letters in what is judged of the value."""
    return bool(_BOTH_CASES.search(value[:JUDGED]))


def is_random(value: bytes) -> bool:
    """Say whether the value has what words lack: digits, or both cases."""
    return has_digit(value) or has_both_cases(value)


def end_of(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    """Return where the match of `pattern` at `start` ends; `start` where there is none."""
    match = pattern.match(text, start)
    return match.end() if match else start
