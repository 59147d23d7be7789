"""Search: a name, a code, a word, a line of a log or a whole traceback finds its failure.

The engine is asked first: what a signature knows needs no guessing. Then come codes and messages
that stand in the text, then its words, then words and names that are spelt like them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQuery, SearchRank
from django.db.models import F, Q, QuerySet

from diagnosis.discretion import quoting_nothing
from diagnosis.engine import LogFile, diagnose
from diagnosis.preloaded import compiled
from encyclopedia import index, spelling
from encyclopedia.codes import code_in_text, key_of
from encyclopedia.models import Failure

__all__ = ["LONGEST_QUERY", "MOST_CHARACTERS", "SearchResult", "find", "suggest"]

# Of a longer text the end is looked at, where the exception stands.
MOST_CHARACTERS = 4000
# What is longer is a log: its page is found as well, and a diagnosis is offered besides.
LONGEST_QUERY = 300
_MOST_HITS = 25
# Where any word will do, what follows the first few has nothing to do with the question.
_MOST_NEAR_HITS = 8
_MOST_SUGGESTIONS = 7
_PLAIN_WORDS = re.compile(r"[a-z]+(?: [a-z]+)+", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found, best first.

    `exact` is the failure that the query names outright: then nothing else was looked for. `stated`
    are those that the engine, a code or a message finds in the text. `hits` are others by their
    words: all of them, or any; `has_more` says that they are the best of more. `corrected` is the
    query as it may have been meant.
    """

    query: str
    exact: Failure | None = None
    stated: tuple[Failure, ...] = ()
    hits: tuple[Failure, ...] = ()
    has_all_words: bool = False
    has_more: bool = False
    corrected: str | None = None


def find(text: str) -> SearchResult:
    """Look for `text`; see the module for the order."""
    typed = _end_of(text.replace("\0", " "))
    query = clean(typed)
    known_by_engine = _known_by_engine(typed)
    if len(known_by_engine) == 1 and len(query) <= LONGEST_QUERY:
        return SearchResult(query, exact=known_by_engine[0])
    if exact := _named(query):
        return SearchResult(query, exact=exact)
    coded = Failure.objects.listed().coded(code_in_text(query))
    stated = (*known_by_engine, *((coded,) if coded else ()), *Failure.objects.stated_in(typed))
    return _by_words(query, tuple(dict.fromkeys(stated)))


def clean(text: str) -> str:
    """Return `text` as one line without what PostgreSQL refuses, and not too long."""
    return _end_of(" ".join(text.replace("\0", " ").split()))


def _end_of(text: str) -> str:
    """Return the last whole lines, or of one long line the last whole words."""
    if len(text) <= MOST_CHARACTERS:
        return text
    end = text[-MOST_CHARACTERS:]
    _begun, _, whole = end.partition("\n" if "\n" in end else " ")
    return whole or end


def suggest(text: str) -> tuple[Failure, ...]:
    """Return what may be meant by `text` while it is being typed, best first."""
    query = clean(text)[:LONGEST_QUERY]
    found = [each for each in (_coded(query), *_begun(query)) if each is not None]
    if not found:
        found = list(_nearest(query))
    return tuple(dict.fromkeys(found))[:_MOST_SUGGESTIONS]


def _known_by_engine(text: str) -> tuple[Failure, ...]:
    """Return the failure that the engine takes for the first, then what follows from it."""
    if not text.strip():
        return ()
    with quoting_nothing():
        verdict = diagnose([LogFile("search", text.encode())], compiled())
    primary = verdict.primary.failure if verdict.primary else None
    slugs = [primary.slug] if primary else []
    slugs += [each.failure for each in verdict.consequences]
    return Failure.objects.in_order_of(slugs)


def _named(query: str) -> Failure | None:
    if not query:
        return None
    slug = query.lower().replace(" ", "-")
    named = Q(slug=slug) | Q(title__iexact=query) | Q(aliases__slug=slug)
    return _coded(query) or Failure.objects.filter(named).first()


def _coded(query: str) -> Failure | None:
    """Return the failure whose code `query` is.

    Plain words are none where another failure's title holds them: `OUT_OF_MEMORY` is a state of
    Slurm, but `out of memory` is whatever ran out of it.
    """
    failure = Failure.objects.listed().coded(key_of(query))
    if failure is None or not _PLAIN_WORDS.fullmatch(query):
        return failure
    others = Failure.objects.filter(title__icontains=query).exclude(slug=failure.slug)
    return None if others.exists() else failure


def _by_words(query: str, stated: tuple[Failure, ...]) -> SearchResult:
    hits = _ranked(index.all_words(query))
    if hits or stated:
        others = [each for each in hits if each not in stated]
        return SearchResult(
            query,
            stated=stated,
            hits=tuple(others[:_MOST_HITS]),
            has_all_words=bool(hits),
            has_more=len(others) > _MOST_HITS,
        )
    names = list(_names())
    meant = spelling.corrected(query, names)
    if meant != query and (hits := _ranked(index.all_words(meant))):
        named = _named(meant)
        hits = tuple(dict.fromkeys((named, *hits))) if named else hits
        return SearchResult(query, hits=hits[:_MOST_HITS], has_all_words=True, corrected=meant)
    hits = _ranked(index.any_word(meant))[:_MOST_NEAR_HITS] or _nearest(query)
    return SearchResult(query, hits=hits)


def _begun(query: str) -> tuple[Failure, ...]:
    words = index.begun_words(query)
    return _ranked(words) if words else ()


def _nearest(query: str) -> tuple[Failure, ...]:
    return Failure.objects.in_order_of(spelling.nearest(query, list(_names())))


def _names() -> Iterator[spelling.Names]:
    for slug, title, message, tags in Failure.objects.values_list(
        "slug", "title", "message", "tags"
    ):
        yield spelling.Names(slug, (title, *((message,) if message else ()), *tags))


def _ranked(query: SearchQuery) -> tuple[Failure, ...]:
    found: QuerySet[Failure] = (
        Failure.objects.listed()
        .filter(search=query)
        .annotate(rank=SearchRank(F("search"), query, weights=index.WEIGHTS))
        .order_by("-rank", "slug")
    )
    # One more than is listed, so that the page can say whether there are more.
    return tuple(found[: _MOST_HITS + 1])
