"""The failures whose lines are most like one that no signature knows, and what differs.

A word counts by how few of the catalogue's lines have it, so that "error" brings nothing near.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from diagnosis.preloaded import compiled
from encyclopedia.models import Failure, LoadedCatalogue

__all__ = ["Near", "nearest"]

_MOST = 3
# Of 1: what has less in common with a line is about something else.
_LEAST_LIKENESS = 0.12
# One word alone makes no two lines alike, and neither does one beside "the", "out" or "error": two
# must be words of a subject, that no more than one line in this many has.
_FEWEST_SHARED = 2
_RARE = 10
# Words of any sentence, on whatever subject; shorter ones are not looked at.
_OF_ANY_SUBJECT = frozenset(
    (
        *("about", "above", "after", "again", "all", "also", "and", "any", "are", "because"),
        *("been", "before", "being", "below", "between", "both", "but", "can", "cannot", "could"),
        *("did", "does", "doing", "down", "during", "each", "few", "for", "from", "had", "has"),
        *("have", "having", "here", "how", "into", "its", "itself", "just", "may", "might", "more"),
        *("most", "must", "not", "now", "off", "once", "only", "other", "our", "out", "over"),
        *("own", "same", "shall", "should", "some", "such", "than", "that", "the", "their", "them"),
        *("then", "there", "these", "they", "this", "those", "through", "too", "under", "until"),
        *("upon", "very", "was", "were", "what", "when", "where", "whether", "which", "while"),
        *("who", "whose", "why", "will", "with", "within", "without", "would", "yet", "you"),
        *("your"),
    )
)
_MOST_WORDS = 5
_CHARACTERS = 400
_WORD = re.compile(r"[A-Za-z][A-Za-z_]*[A-Za-z]")
_INNER_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Near:
    """A failure that prints something like the line: the two lines, and the words of one alone."""

    slug: str
    title: str
    severity: str
    prints: str
    only_there: tuple[str, ...]
    only_here: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Printed:
    """What a failure prints in a line of its own, and the words in it."""

    failure: Failure
    message: str
    parts: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """All that the failures print, and how rare each word is among it."""

    lines: tuple[_Printed, ...]
    rarity: Mapping[str, float]


def nearest(text: str) -> tuple[Near, ...]:
    """Return the failures that print what is most like the line `text`, the most similar first."""
    here = _message(text)
    parts = _parts(here)
    printed = _printed(LoadedCatalogue.current_fingerprint())
    best: dict[str, tuple[float, _Printed]] = {}
    for each in printed.lines:
        likeness = _likeness(parts, each.parts, printed.rarity)
        if likeness > max(_LEAST_LIKENESS, best.get(each.failure.slug, (0.0,))[0]):
            best[each.failure.slug] = (likeness, each)
    ranked = sorted(best.values(), key=lambda each: (-each[0], each[1].failure.slug))[:_MOST]
    return tuple(_compared(each, here, printed.rarity) for _likeness, each in ranked)


@functools.lru_cache(maxsize=1)
def _printed(_fingerprint: str) -> _Catalogue:
    """Return what the failures print, read once for each state of the catalogue."""
    rows = Failure.objects.only("slug", "title", "severity", "wordings").order_by("slug")
    messages = ((failure, _message(each)) for failure in rows for each in failure.wordings)
    lines = tuple(_Printed(failure, message, _parts(message)) for failure, message in messages)
    return _Catalogue(lines, _rarity(line.parts for line in lines))


def _message(line: str) -> str:
    """Return what a line says, without who printed it and when."""
    message = (
        compiled().envelopes.parse(line[:_CHARACTERS].encode()).message.decode("utf-8", "replace")
    )
    return message.strip() or line[:_CHARACTERS].strip()


def _compared(printed: _Printed, here: str, rarity: Mapping[str, float]) -> Near:
    return Near(
        slug=printed.failure.slug,
        title=printed.failure.title,
        severity=printed.failure.severity,
        prints=printed.message,
        only_there=_words_of_one(printed.message, here, rarity),
        only_here=_words_of_one(here, printed.message, rarity),
    )


def _words_of_one(text: str, other: str, rarity: Mapping[str, float]) -> tuple[str, ...]:
    """Return the rarest words of a text that the other one does not have, as they are written."""
    known = {word.lower() for word in _WORD.findall(other)}
    words = dict.fromkeys(word for word in _WORD.findall(text) if word.lower() not in known)
    rarest = sorted(filter(_parts, words), key=lambda word: -_weight(_parts(word), rarity))
    telling = rarest[:_MOST_WORDS]
    return tuple(word for word in words if word in telling)


def _parts(text: str) -> frozenset[str]:
    """Return the words of a text, also those within a name such as OutOfMemoryError."""
    parts = (part for word in _WORD.findall(text) for part in _INNER_WORD.split(word))
    return frozenset(part.lower() for part in parts if len(part) >= _SHORTEST)


def _rarity(lines: Iterable[frozenset[str]]) -> Mapping[str, float]:
    lines = list(lines)
    counts = Counter(part for line in lines for part in line)
    return {part: math.log((len(lines) + 1) / count) for part, count in counts.items()}


def _likeness(one: frozenset[str], other: frozenset[str], rarity: Mapping[str, float]) -> float:
    """Return from 0 to 1 how much of the rare words two lines share."""
    shared = one & other
    telling = (rarity[part] >= math.log(_RARE) for part in shared - _OF_ANY_SUBJECT)
    if sum(telling) < _FEWEST_SHARED:
        return 0.0
    return _weight(shared, rarity) / math.sqrt(_weight(one, rarity) * _weight(other, rarity))


def _weight(parts: Iterable[str], rarity: Mapping[str, float]) -> float:
    """Return how much words count together; one that the catalogue does not have is the rarest."""
    unknown = max(rarity.values(), default=0.0)
    return sum(rarity.get(part, unknown) for part in parts)
