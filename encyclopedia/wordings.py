"""The messages of a failure as they are printed: one line for each of its signatures.

Lists of failures show one of them, without what launchers and loggers put in front of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from diagnosis.engine.anchors import pattern_of
from diagnosis.engine.envelope_files import load_envelopes
from diagnosis.engine.sources import Envelopes
from encyclopedia.catalogue import Failure, Signature
from encyclopedia.messages import place_in

__all__ = ["telling_line", "wordings"]

# A line that goes on for longer has its message well before.
_LONGEST = 300
# A list shows a line to about here, on a wide screen.
_FURTHEST = 60


def wordings(failure: Failure) -> tuple[str, ...]:
    """Return what the failure prints, each wording once; advice is no message of it."""
    found = (_shortest_line(each) for each in failure.signatures if each.role != "advice")
    return tuple(dict.fromkeys(filter(None, found)))


def telling_line(failure: Failure) -> str:
    """Return the shortest line with the message, without what stands in front of it.

    A message that a line comes to late is shown alone, unless it makes no sense alone. Where all
    that is fixed is a number, there is no message, and a line that holds it stands for it.
    """
    message = failure.message or ""
    if not message:
        return min(wordings(failure), key=len, default="")
    lines = _lines_with(message, failure)
    early = [line for line in lines if place_in(line.lower(), message.lower()) <= _FURTHEST]
    fitting = early or ([] if message[:1].isupper() else lines)
    return min(fitting, key=len, default=message)[:_LONGEST]


def _lines_with(message: str, failure: Failure) -> list[str]:
    texts = (text for signature in failure.signatures for text in signature.matches)
    lines = (line for text in texts for line in text.splitlines())
    return [_bare(line) for line in lines if place_in(line.lower(), message.lower()) >= 0]


def _bare(line: str) -> str:
    """Return what the program said, without what was put in front of it."""
    return _envelopes().parse(line.encode()).message.decode(errors="replace").strip()


@functools.cache
def _envelopes() -> Envelopes:
    return load_envelopes()


def _shortest_line(signature: Signature) -> str:
    """Return the line with the least around the message, of all that the pattern finds."""
    return min(_lines(signature), key=len, default="")


def _lines(signature: Signature) -> Iterator[str]:
    pattern = pattern_of(signature.pattern)
    for text in signature.matches:
        for line in text.splitlines():
            if pattern.search(line.encode()):
                yield line.strip()[:_LONGEST]
