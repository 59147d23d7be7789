"""Typing errors: the words of the catalogue's names that are nearest to what was typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rapidfuzz import fuzz, process

__all__ = ["corrected"]

_WORD = re.compile(r"[^\W\d_]{4,}")  # shorter ones have too many neighbours
# Of 100: one letter wrong, missing or swapped in a word of five still counts.
_SAME_WORD = 75


def corrected(text: str, names: Iterable[str]) -> str:
    """Return `text` with each word that no name has put as the most similar one that a name has."""
    vocabulary = {word.lower() for name in names for word in _WORD.findall(name)}

    def put_right(found: re.Match[str]) -> str:
        word = found[0].lower()
        if word in vocabulary:
            return found[0]
        best = process.extractOne(word, vocabulary, scorer=fuzz.ratio, score_cutoff=_SAME_WORD)
        return best[0] if best else found[0]

    return _WORD.sub(put_right, text)
