r"""What `^` means in a pattern: the start of a line, or of the message behind its envelopes.

A collector puts its prefix in front of `Killed`, and it is the same line still. The scan therefore
looks for a pattern without its `^`, and a hit counts only where the pattern, with its `^`, is found
in the message or in the line.
"""

from __future__ import annotations

import functools
import re

from diagnosis.engine.patterns import BytePattern

__all__ = ["is_anchored", "pattern_of", "scan_form"]

# An escape, a class, or a `^` that is neither: what a pattern is made of, as far as `^` goes.
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\^|[^\\\[^]+|.", re.DOTALL)


@functools.lru_cache(maxsize=4096)
def scan_form(pattern: str) -> str:
    """Return the pattern without its `^`, as it is scanned for."""
    return "".join(part for part in _PART.findall(pattern) if part != "^")


def is_anchored(pattern: str) -> bool:
    """Say whether a hit of the scan has still to be looked at."""
    return scan_form(pattern) != pattern


@functools.lru_cache(maxsize=4096)
def pattern_of(pattern: str) -> BytePattern:
    """Return the pattern compiled by RE2."""
    return BytePattern(pattern)
