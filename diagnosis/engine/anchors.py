r"""What `^` and `$` mean in a pattern: the ends of a line, or of the message in its envelopes.

A collector puts its prefix in front of `Killed`, a terminal blanks behind it, and it is the same
line still. The scan therefore looks for a pattern without its `^` and with blanks before its `$`,
and a hit counts only where the pattern is found as it stands in the message or in the line.
"""

from __future__ import annotations

import functools
import re

from diagnosis.engine.patterns import BytePattern

__all__ = ["is_anchored", "pattern_of", "scan_form", "stands_in"]

# An escape, a class, an anchor that is neither, or other text: what a pattern is made of.
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|[$^]|[^\\\[$^]+|.", re.DOTALL)
_SCANNED = {"^": "", "$": r"[ \t]{0,16}$"}
_BLANKS = b" \t"


@functools.lru_cache(maxsize=4096)
def scan_form(pattern: str) -> str:
    """Return the pattern as it is scanned for: it finds no less than the pattern itself."""
    return "".join(_SCANNED.get(part, part) for part in _PART.findall(pattern))


def is_anchored(pattern: str) -> bool:
    """Say whether a hit of the scan has still to be looked at."""
    return scan_form(pattern) != pattern


@functools.lru_cache(maxsize=4096)
def pattern_of(pattern: str) -> BytePattern:
    """Return the pattern compiled by RE2."""
    return BytePattern(pattern)


def stands_in(pattern: str, text: bytes) -> bool:
    """Say whether the pattern, anchors and all, is found in a text but for blanks at its end."""
    return pattern_of(pattern).search(text.rstrip(_BLANKS)) is not None
