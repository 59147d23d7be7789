"""The full-text index of the failures: what weighs how much, and how words are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import Value
from django.db.models.expressions import CombinedExpression

from encyclopedia.catalogue import GATED_SECTIONS, Failure

__all__ = ["WEIGHTS", "all_words", "any_word", "begun_words", "indexed_sections", "vector"]

# PostgreSQL's configurations: words by their stems, and words as they are written, for beginnings.
_STEMS = "english"
_WRITTEN = "simple"
# How much a hit counts by the weight of the text that it stands in, D to A.
WEIGHTS = [0.05, 0.1, 0.4, 1.0]

_WORD = re.compile(r"[^\W_]+")
_INNER_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def vector(failure: Failure, body: Iterable[str]) -> CombinedExpression:
    """Weigh title, messages and codes (A) above tags and systems (B) above the text (C)."""
    messages = [text for signature in failure.signatures for text in signature.matches]
    names = (failure.title, failure.slug.replace("-", " "), failure.message or "", *failure.codes)
    labels = (*failure.tags, *failure.systems, failure.category)
    parts = (
        _part((*names, *messages), "A", _STEMS),
        _part(names, "A", _WRITTEN),
        _part(labels, "B", _STEMS),
        _part(labels, "B", _WRITTEN),
        _part(body, "C", _STEMS),
    )
    total = parts[0] + parts[1]
    for part in parts[2:]:
        total += part
    return total


def indexed_sections(failure: Failure) -> tuple[str, ...]:
    """Name the sections whose words are found: those that everyone may read."""
    return tuple(s.heading for s in failure.sections if s.heading not in GATED_SECTIONS)


def all_words(text: str) -> SearchQuery:
    """Ask for every word of `text`.

    "plain", not "websearch": in a message, quotes quote nothing, and a hyphen excludes nothing.
    """
    return SearchQuery(text, config=_STEMS, search_type="plain")


def any_word(text: str) -> SearchQuery:
    """Ask for at least one word of `text`."""
    return _AnyWordQuery(text, config=_STEMS)


def begun_words(text: str) -> SearchQuery | None:
    """Ask for every word of `text`, of which the last is still being typed; None for no word."""
    words = _WORD.findall(text.lower())
    if not words:
        return None
    started = " & ".join((*words[:-1], f"{words[-1]}:*"))
    written = SearchQuery(started, config=_WRITTEN, search_type="raw")
    return written | SearchQuery(started, config=_STEMS, search_type="raw")


class _AnyWordQuery(SearchQuery):
    """Any word of the text: PostgreSQL itself takes the words apart, and `and` becomes `or`."""

    template = "replace(%(function)s(%(expressions)s)::text, ' & ', ' | ')::tsquery"


def _part(texts: Iterable[str], weight: str, configuration: str) -> SearchVector:
    text = "\n".join(texts)
    return SearchVector(Value(f"{text}\n{_names_apart(text)}"), weight=weight, config=configuration)


def _names_apart(text: str) -> str:
    """Return the words within names such as `a.OutOfMemoryError`, which PostgreSQL keeps whole."""
    words = _WORD.findall(text)
    inner = (_INNER_WORD.split(word) for word in words)
    return " ".join((*words, *(part for parts in inner if len(parts) > 1 for part in parts)))
