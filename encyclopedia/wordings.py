"""The messages of a failure as they are printed: one line for each of its signatures.

Lists of failures show one of them, without what launchers and loggers put in front of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from diagnosis.engine.anchors import pattern_of
from diagnosis.engine.envelope_files import load_envelopes
from diagnosis.engine.sources import Envelopes
from encyclopedia.catalogue import Failure, Signature
from encyclopedia.messages import ANY_VALUE, cut_at_a_word, place_in

__all__ = ["stated_by", "telling_line", "wordings"]

# A line that goes on for longer has its message well before.
_LONGEST = 300
# A list shows a line to about here, on a wide screen.
_FURTHEST = 60


def wordings(failure: Failure) -> tuple[str, ...]:
    """Return what the failure prints, each wording once.

    Advice is no message of it, nor is a line that tells of it only beside others: a run that is
    well may print the same.
    """
    found = (_shortest_line(each) for each in failure.signatures if _tells_alone(each))
    return tuple(dict.fromkeys(filter(None, found)))


def stated_by(failure: Failure) -> str:
    """Return the message where its words alone state the failure, else "".

    They do not where the message leaves a value open, which may decide, nor where only signatures
    that look for another line as well know it.
    """
    message = failure.message or ""
    return "" if ANY_VALUE in message or _is_told_beside_others(failure) else message


def _tells_alone(signature: Signature) -> bool:
    """Say whether the line that the pattern finds tells of the failure by itself.

    What is required within the event belongs to it, as a traceback does to its exception.
    """
    return signature.role != "advice" and all(each.within == "event" for each in signature.requires)


def _is_told_beside_others(failure: Failure) -> bool:
    """Say whether the message stands in texts, but in none of a signature that tells alone."""
    found = [each for each in failure.signatures if _lines_with(failure.message or "", [each])]
    return bool(found) and not any(map(_tells_alone, found))


def telling_line(failure: Failure) -> str:
    """Return the shortest line with the message, without what stands in front of it.

    A message that a line comes to late is shown alone, unless it makes no sense alone. Where all
    that is fixed is a number, there is no message, and a line that holds it stands for it. Nothing
    is shown where the message says nothing by itself.
    """
    message = failure.message or ""
    if not message:
        return min(wordings(failure), key=len, default="")
    if _is_told_beside_others(failure):
        return ""
    lines = _lines_with(message, failure.signatures)
    early = [line for line in lines if place_in(line.lower(), message.lower()) <= _FURTHEST]
    fitting = early or ([] if message[:1].isupper() else lines)
    return cut_at_a_word(min(fitting, key=len, default=message), _LONGEST)


def _lines_with(message: str, signatures: Iterable[Signature]) -> list[str]:
    texts = (text for signature in signatures for text in signature.matches)
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
                yield cut_at_a_word(line.strip(), _LONGEST)
