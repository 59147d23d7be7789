"""Typing errors: the words and the names of the catalogue that are nearest to what was typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process, utils

__all__ = ["Names", "corrected", "nearest"]

_WORD = re.compile(r"[^\W\d_]{4,}")  # shorter ones have too many neighbours
# Of 100: one letter wrong, missing or swapped in a word of five still counts.
_SAME_WORD = 75
_SAME_NAME = 65
_MOST_NEAREST = 5
# The beginning of a name is enough to know it by, and each letter costs time.
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Names:
    """What one failure is called: its title, its message, its tags."""

    slug: str
    names: tuple[str, ...]


def corrected(text: str, known: Iterable[Names]) -> str:
    """Return `text` with each word that no name has put as the most similar one that a name has."""
    vocabulary = {
        word.lower() for each in known for name in each.names for word in _WORD.findall(name)
    }

    def put_right(found: re.Match[str]) -> str:
        word = found[0].lower()
        if word in vocabulary:
            return found[0]
        best = process.extractOne(word, vocabulary, scorer=fuzz.ratio, score_cutoff=_SAME_WORD)
        return best[0] if best else found[0]

    return _WORD.sub(put_right, text)


def nearest(text: str, known: Sequence[Names]) -> tuple[str, ...]:
    """Return the slugs of the failures that have a name like `text`, the most similar first."""
    names = [(each.slug, name) for each in known for name in each.names]
    best = process.extract(
        text[:_LONGEST_NAME],
        [name[:_LONGEST_NAME] for _slug, name in names],
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        score_cutoff=_SAME_NAME,
        limit=None,
    )
    return tuple(dict.fromkeys(names[place][0] for _name, _score, place in best))[:_MOST_NEAREST]
