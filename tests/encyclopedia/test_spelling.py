"""What is spelt wrong is put right, and what is spelt like a name is found."""

from __future__ import annotations

import pytest

from encyclopedia.spelling import Names, corrected, nearest

KNOWN = [
    Names("evicted", ("Ephemeral Storage Exhaustion", "The node was low on disk", "Kubernetes")),
    Names("bus-error", ("Process Killed by SIGBUS", "Bus error (core dumped)", "Shared Memory")),
]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("efemeral storage", "ephemeral storage"),
        ("kuberentes", "kubernetes"),
        ("SIGBSU", "sigbus"),
        ("exhausion of storge", "exhaustion of storage"),
    ],
)
def test_a_misspelt_word_becomes_the_word_of_a_name(typed: str, meant: str) -> None:
    assert corrected(typed, KNOWN) == meant


@pytest.mark.parametrize("text", ["storage", "Ephemeral", "brainwave", "low", "Xid 79", ""])
def test_other_words_stay_as_they_are(text: str) -> None:
    assert corrected(text, KNOWN) == text


def test_the_most_similar_name_comes_first() -> None:
    assert nearest("proces kiled by bus", KNOWN)[0] == "bus-error"


def test_nothing_is_like_nonsense() -> None:
    assert nearest("zzzz", KNOWN) == ()
    assert nearest("anything", []) == ()
