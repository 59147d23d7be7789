"""Search: a name, a code, a word, a line of a log or a whole traceback finds its failure.

The engine is asked first: what a signature knows needs no guessing. Then come codes and messages
that stand in the text, then its words, then the text letter by letter, then words that are spelt
like them, then most of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q

from diagnosis.discretion import quoting_nothing
from diagnosis.engine import LogFile, diagnose
from diagnosis.engine.hypotheses import UNDECIDED
from diagnosis.preloaded import compiled
from encyclopedia import index, literal, spelling
from encyclopedia.codes import Kind, code_in_text, key_of, kind_of
from encyclopedia.messages import ANY_VALUE
from encyclopedia.models import Code, Failure, FailureQuerySet

__all__ = [
    "LONGEST_QUERY",
    "MOST_CHARACTERS",
    "SearchResult",
    "UnknownCode",
    "end_of",
    "find",
    "suggest",
]

# Of a longer text the end is looked at, where the exception stands.
MOST_CHARACTERS = 4000
# What is longer is a log: its page is found as well, and a diagnosis is offered besides.
LONGEST_QUERY = 300
_MOST_HITS = 25
# Where any word will do, what follows the first few has nothing to do with the question.
_MOST_NEAR_HITS = 8
# A page that says less of a question than this is about something else.
_LEAST_SHARE = 0.5
_MOST_SUGGESTIONS = 7
# /dev/shm, pair.cc, tf.config: one name, though it is taken apart to look for it.
_COMPOUND = re.compile(r"\S*[/.:~]\S*")
_HAS_WORD = re.compile(r"[^\W_]")
_PLAIN_WORDS = re.compile(r"[a-z]+(?: [a-z]+)+", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UnknownCode:
    """A code that no page is about: what it is called, and those of its kind that have a page."""

    label: str
    kind: Kind
    known: tuple[Code, ...]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found, best first.

    `exact` is the failure that the query names outright: then nothing else was looked for. `stated`
    are those that the engine, a code or a message finds in the text. `hits` are others by their
    words: all of them, or any; `has_more` says that they are the best of more. `corrected` is the
    query as it may have been meant. `unknown` is the code that the query is, where no failure has
    it; `hits` then are pages that mention it.
    """

    query: str
    exact: Failure | None = None
    stated: tuple[Failure, ...] = ()
    hits: tuple[Failure, ...] = ()
    has_all_words: bool = False
    has_more: bool = False
    corrected: str | None = None
    unknown: UnknownCode | None = None

    @property
    def has_words(self) -> bool:
        """Say whether there is anything in the query to look for."""
        return _HAS_WORD.search(self.query) is not None


def find(text: str) -> SearchResult:
    """Look for `text`; see the module for the order."""
    typed = end_of(text.replace("\0", " "))
    query = clean(typed)
    known_by_engine = _known_by_engine(typed)
    if len(known_by_engine) == 1 and len(query) <= LONGEST_QUERY:
        return SearchResult(query, exact=known_by_engine[0])
    if exact := _named(query):
        return SearchResult(query, exact=exact)
    if kind := kind_of(query):
        return _unknown(query, kind)
    coded = Failure.objects.listed().coded(code_in_text(query))
    stated = (*known_by_engine, *((coded,) if coded else ()), *Failure.objects.stated_in(typed))
    return _by_words(query, tuple(dict.fromkeys(stated)))


def clean(text: str) -> str:
    """Return `text` as one line without what PostgreSQL refuses, and not too long."""
    return end_of(" ".join(text.replace("\0", " ").split()))


def end_of(text: str) -> str:
    """Return what is looked at of a long text: its last whole lines, or words of one long line."""
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
        found = list(_begun(_corrected(query)))
    return tuple(dict.fromkeys(found))[:_MOST_SUGGESTIONS]


def _known_by_engine(text: str) -> tuple[Failure, ...]:
    """Return the failures that the engine finds in the text, the first of the run first.

    A line that two pages claim is no name of either.
    """
    if not text.strip():
        return ()
    with quoting_nothing():
        verdict = diagnose([LogFile("search", text.encode())], compiled())
    primary = verdict.primary.failure if verdict.primary else None
    slugs = [primary.slug] if primary else []
    slugs += [each.failure for each in verdict.hypotheses if each.against == UNDECIDED]
    slugs += [each.failure for each in verdict.consequences]
    return Failure.objects.in_order_of(slugs)


def _named(query: str) -> Failure | None:
    if not query:
        return None
    slug = query.lower().replace(" ", "-")
    named = Q(slug=slug) | Q(title__iexact=query) | Q(aliases__slug=slug)
    if ANY_VALUE in query:  # copied from a page, since no program prints it
        named |= Q(message=query)
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


def _unknown(query: str, kind: Kind) -> SearchResult:
    known = Code.objects.of_kind(kind)
    mentioned = Failure.objects.filter(search=index.phrase(query))
    hits = _best(mentioned, index.all_words(query), index.any_word(query))[:_MOST_NEAR_HITS]
    unknown = UnknownCode(kind.label_of(query), kind, known)
    return SearchResult(query, hits=hits, has_all_words=bool(hits), unknown=unknown)


def _by_words(query: str, stated: tuple[Failure, ...]) -> SearchResult:
    hits = _with_all_words(query)
    if _COMPOUND.fullmatch(query):
        hits = tuple(dict.fromkeys((*_holding([query], query), *hits)))
    if hits or stated:
        return _all_said(query, hits, stated)
    if hits := _holding([query], query):
        return _all_said(query, hits)
    meant = _corrected(query)
    if meant != query and (hits := _with_all_words(meant)):
        named = _named(meant)
        hits = tuple(dict.fromkeys((named, *hits))) if named else hits
        return SearchResult(query, hits=hits[:_MOST_HITS], has_all_words=True, corrected=meant)
    if hits := _holding(query.split(), query):
        return _all_said(query, hits)
    return SearchResult(query, hits=_with_most_words(meant)[:_MOST_NEAR_HITS])


def _all_said(
    query: str, hits: tuple[Failure, ...], stated: tuple[Failure, ...] = ()
) -> SearchResult:
    others = [each for each in hits if each not in stated]
    return SearchResult(
        query,
        stated=stated,
        hits=tuple(others[:_MOST_HITS]),
        has_all_words=bool(hits),
        has_more=len(others) > _MOST_HITS,
    )


def _holding(parts: Sequence[str], query: str) -> tuple[Failure, ...]:
    """Return the failures whose pages hold each of `parts` letter by letter."""
    slugs = literal.holding(parts) if _HAS_WORD.search(query) else []
    found = Failure.objects.filter(slug__in=slugs)
    return _best(found, index.all_words(query), index.any_word(query)) if slugs else ()


def _with_all_words(text: str) -> tuple[Failure, ...]:
    found = Failure.objects.filter(search=index.all_words_but_numbers(text))
    return _best(found, index.all_words(text), index.any_word(text))


def _with_most_words(text: str) -> tuple[Failure, ...]:
    found = Failure.objects.saying(text, at_least=_LEAST_SHARE)
    return _best(found, index.any_word(text), index.any_word(text))


def _begun(query: str) -> tuple[Failure, ...]:
    words, any_word = index.begun_words(query), index.any_begun_word(query)
    if words is None or any_word is None:
        return ()
    return _best(Failure.objects.filter(search=words), words, any_word)


def _best(found: FailureQuerySet, words: SearchQuery, any_word: SearchQuery) -> tuple[Failure, ...]:
    # One more than is listed, so that the page can say whether there are more.
    return tuple(found.best_for(words, any_word)[: _MOST_HITS + 1])


def _corrected(query: str) -> str:
    rows = Failure.objects.values_list("title", "message", "tags")
    names = (name for title, message, tags in rows for name in (title, message, *tags))
    return spelling.corrected(query, names)
