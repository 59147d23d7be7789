"""What is spelt wrong is put right."""

from __future__ import annotations

import pytest

from encyclopedia.spelling import corrected

KNOWN = [
    "Ephemeral Storage Exhaustion",
    "The node was low on disk",
    "Kubernetes",
    "Process Killed by SIGBUS",
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
