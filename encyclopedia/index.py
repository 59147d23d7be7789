"""The full-text index of the failures: what weighs how much, and how words are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db.models import F, FloatField, Func, Value
from django.db.models.expressions import CombinedExpression

from encyclopedia.catalogue import GATED_SECTIONS, Failure
from encyclopedia.other_words import in_one_word, words_besides

__all__ = [
    "TITLE_ALONE",
    "WEIGHTS",
    "all_words",
    "all_words_but_numbers",
    "any_begun_word",
    "any_word",
    "begun_words",
    "indexed_sections",
    "phrase",
    "share_of_words",
    "vector",
]

# PostgreSQL's configurations: words by their stems, and words as they are written, for beginnings.
_STEMS = "english"
_WRITTEN = "simple"
# How much a hit counts by the weight of the text that it stands in, D to A.
WEIGHTS = [0.05, 0.1, 0.4, 1.0]
TITLE_ALONE = [0.0, 0.0, 0.0, 1.0]

_NUMBER = re.compile(r"(?<![^\W_])\d+(?![^\W_])")
_WITH_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W_]+")
_TITLE_WORD = re.compile(r"[^\s(),:;]+")
_INNER_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# What joins the words of a path, a file name, an address; between digits it is part of a number.
_JOINT = re.compile(r"[/\\.:~@](?!\d)|(?<!\d)[/\\.:~@]")


def vector(failure: Failure, body: Iterable[str]) -> CombinedExpression:
    """Weigh the title (A) above messages and codes (B), tags and systems (C) and the text (D)."""
    messages = [text for signature in failure.signatures for text in signature.matches]
    names = (failure.slug.replace("-", " "), failure.message or "", *failure.codes)
    labels = (*failure.tags, *failure.systems, failure.category)
    parts = (
        _title(failure.title),
        _part((*names, *messages), "B", _STEMS),
        _part((failure.title, *names), "B", _WRITTEN),
        _part(labels, "C", _STEMS),
        _part(labels, "C", _WRITTEN),
        _part(body, "D", _STEMS),
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
    return SearchQuery(_asked(text), config=_STEMS, search_type="plain")


def all_words_but_numbers(text: str) -> SearchQuery:
    """Ask for every word of `text`: of `rank 3 died`, pages need not know the number."""
    return all_words(_NUMBER.sub(" ", text) if _WITH_LETTER.search(text) else text)


def any_word(text: str) -> SearchQuery:
    """Ask for at least one word of `text`."""
    return _AnyWordQuery(_asked(text), config=_STEMS)


def phrase(text: str) -> SearchQuery:
    """Ask for the words of `text` one behind the other."""
    return SearchQuery(text, config=_STEMS, search_type="phrase")


def share_of_words(text: str) -> Func:
    """Say which share of the words of `text`, numbers aside, a page has: from 0 to 1."""
    words = _asked(_NUMBER.sub(" ", text))
    return _ShareOfWords(F("search"), Value(_STEMS), Value(words), output_field=FloatField())


def begun_words(text: str) -> SearchQuery | None:
    """Ask for every word of `text`, of which the last is still being typed; None for no word."""
    return _begun(text, " & ")


def any_begun_word(text: str) -> SearchQuery | None:
    """Ask for at least one word of `text`, of which the last is still being typed."""
    return _begun(text, " | ")


def _asked(text: str) -> str:
    """Return the words to ask for: PostgreSQL would take `/dev/shm` or `pair.cc` for one word."""
    return _JOINT.sub(" ", in_one_word(text))


def _begun(text: str, joined: str) -> SearchQuery | None:
    words = _WORD.findall(text.lower())
    if not words:
        return None
    started = joined.join((*words[:-1], f"{words[-1]}:*"))
    written = SearchQuery(started, config=_WRITTEN, search_type="raw")
    return written | SearchQuery(started, config=_STEMS, search_type="raw")


class _AnyWordQuery(SearchQuery):
    """Any word of the text: PostgreSQL itself takes the words apart, and `and` becomes `or`."""

    template = "replace(%(function)s(%(expressions)s)::text, ' & ', ' | ')::tsquery"


class _ShareOfWords(Func):
    """The share of a text's words that a vector has, 0 for a text without words."""

    template = """(
        SELECT coalesce(avg((word = ANY (tsvector_to_array(asked.vector)))::int), 0)
        FROM (SELECT %(expressions)s) AS asked (vector, configuration, words),
        unnest(tsvector_to_array(to_tsvector(configuration::regconfig, words))) AS word
    )"""


def _title(title: str) -> SearchVector:
    """Weigh each word of a title once, however often it stands there."""
    words = _TITLE_WORD.findall(f"{title} {_names_apart(title)} {words_besides(title)}".lower())
    return SearchVector(Value(" ".join(dict.fromkeys(words))), weight="A", config=_STEMS)


def _part(texts: Iterable[str], weight: str, configuration: str) -> SearchVector:
    text = "\n".join(texts)
    words = "\n".join((text, _names_apart(text), words_besides(text)))
    return SearchVector(Value(words), weight=weight, config=configuration)


def _names_apart(text: str) -> str:
    """Return the words within names such as `a.OutOfMemoryError`, which PostgreSQL keeps whole."""
    words = _WORD.findall(text)
    inner = (_INNER_WORD.split(word) for word in words)
    return " ".join((*words, *(part for parts in inner if len(parts) > 1 for part in parts)))
