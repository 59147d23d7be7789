"""Search: a word, a code or a line of a log finds the failures that speak of it."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.postgres.search import SearchQuery, SearchRank
from django.db.models import F, Q, QuerySet, Value

from encyclopedia.models import Failure

__all__ = ["CONFIGURATION", "MOST_CHARACTERS", "SearchResult", "find"]

CONFIGURATION = "english"
# Longer texts are logs: they are cut here, and the page offers a diagnosis instead.
MOST_CHARACTERS = 2000
_MOST_HITS = 25
# Where any word will do, what follows the first few has nothing to do with the question.
_MOST_NEAR_HITS = 8
# How much a hit counts by where it stands, D to A: see `sync` for what is indexed where.
_WEIGHTS = [0.05, 0.1, 0.4, 1.0]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found, best first.

    `exact` is the failure that the query names outright: then nothing else was looked for. `stated`
    are those whose message stands in it, and `hits` are others by their words: all of them, or any.
    """

    query: str
    exact: Failure | None
    stated: tuple[Failure, ...]
    hits: tuple[Failure, ...]
    has_all_words: bool


def find(text: str) -> SearchResult:
    """Look for `text`: by name, by message, and by all of its words, else by any of them."""
    query = clean(text)
    if exact := _named(query):
        return SearchResult(query, exact, (), (), has_all_words=False)
    # As it was typed: messages may hold two blanks in a row.
    stated = tuple(Failure.objects.stated_in(text.replace("\0", " ")[:MOST_CHARACTERS]))
    # "plain", not "websearch": in a message, quotes quote nothing, and a hyphen excludes nothing.
    hits = _ranked(SearchQuery(query, config=CONFIGURATION, search_type="plain"))
    has_all_words = bool(hits)
    if not has_all_words:
        hits = _ranked(_AnyWordQuery(query, config=CONFIGURATION))[:_MOST_NEAR_HITS]
    others = tuple(each for each in hits if each not in stated)
    return SearchResult(query, None, stated, others, has_all_words)


def clean(text: str) -> str:
    """Return `text` as it can be looked for: no NUL, which PostgreSQL refuses, and not too long."""
    return " ".join(text.replace("\0", " ").split())[:MOST_CHARACTERS]


def _named(query: str) -> Failure | None:
    if not query:
        return None
    slug = query.lower().replace(" ", "-")
    named = Q(slug=slug) | Q(title__iexact=query) | Q(aliases__slug=slug)
    return Failure.objects.filter(named).first()


class _AnyWordQuery(SearchQuery):
    """Any word of the text: PostgreSQL itself takes the words apart, and `and` becomes `or`."""

    template = "replace(%(function)s(%(expressions)s)::text, ' & ', ' | ')::tsquery"


def _ranked(query: SearchQuery) -> tuple[Failure, ...]:
    found: QuerySet[Failure] = (
        Failure.objects.listed()
        .filter(search=query)
        .annotate(rank=SearchRank(F("search"), query, weights=_WEIGHTS, normalization=Value(0)))
        .order_by("-rank", "slug")
    )
    return tuple(found[:_MOST_HITS])
