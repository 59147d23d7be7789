"""The messages of a failure as they are printed: one line for each of its signatures."""

from __future__ import annotations

from collections.abc import Iterator

from diagnosis.engine.anchors import pattern_of
from encyclopedia.catalogue import Failure, Signature

__all__ = ["wordings"]

# A line that goes on for longer has its message well before.
_LONGEST = 300


def wordings(failure: Failure) -> tuple[str, ...]:
    """Return what the failure prints, each wording once; advice is no message of it."""
    found = (_shortest_line(each) for each in failure.signatures if each.role != "advice")
    return tuple(dict.fromkeys(filter(None, found)))


def _shortest_line(signature: Signature) -> str:
    """Return the line with the least around the message, of all that the pattern finds."""
    return min(_lines(signature), key=len, default="")


def _lines(signature: Signature) -> Iterator[str]:
    pattern = pattern_of(signature.pattern)
    for text in signature.matches:
        for line in text.splitlines():
            if pattern.search(line.encode()):
                yield line.strip()[:_LONGEST]
