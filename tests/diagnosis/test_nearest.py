from __future__ import annotations

import re

import pytest

from diagnosis.nearest import nearest
from encyclopedia import sync
from encyclopedia.catalogue import FAILURES, load

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _failures(db: None) -> None:
    sync.load_failures(load(FAILURES))


def test_lines_that_share_rare_words_are_near() -> None:
    found = nearest("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_POSTPONED")

    assert found[0].slug == "cudnn-alloc-failed-oom"
    assert "CUDNN_STATUS_ALLOC_FAILED" in found[0].only_there
    assert "CUDNN_STATUS_ALLOC_POSTPONED" in found[0].only_here
    assert len(found) == 3
    assert len({each.slug for each in found}) == 3


def test_who_printed_the_line_and_when_counts_for_nothing() -> None:
    line = "ValueError: generation_batch (12) must be divisible by num_generations (8)."
    stamped = f"2026-11-30 06:58:00,000 [rank17]: {line}"

    assert nearest(stamped) == nearest(line)


def test_difference_is_told_in_the_rarest_words_in_their_order() -> None:
    line = "OSError: could not open the shard of the token cache: the magic of the zebra is wrong"

    found = nearest(line)

    assert "zebra" in found[0].only_here
    assert "the" not in found[0].only_here
    assert len(found[0].only_here) == 5
    places = [line.index(word) for word in found[0].only_here]
    assert places == sorted(places)


def test_nothing_is_near_where_no_rare_word_is_shared() -> None:
    assert nearest("quokka.QuokkaError: the quokka is asleep") == ()


def test_one_rare_word_beside_a_common_one_brings_nothing_near() -> None:
    """The words shard and error stand in one line of the catalogue: `Error: ShardCannotStart`."""
    assert nearest("acme.FluxError: flux 1.21 exceeds 1.20 in shard 7") == ()


@pytest.mark.parametrize(
    "line",
    [
        "frob.FrobError: flux capacitor out of sync",
        "zoo.KeeperError: the lion could not be fed before the split",
        "acme.FluxError: there should have been more flux than this, without any ndarray between",
    ],
)
def test_one_rare_word_beside_words_of_any_sentence_brings_nothing_near(line: str) -> None:
    """Of these words one line of the catalogue has "sync", one "split", few "ndarray"."""
    assert nearest(line) == ()


def test_whatever_the_rare_word_is_words_of_any_sentence_bring_nothing_near() -> None:
    sentence = "quokkas could not have been there before the others, without which it was out of"
    rare = {
        max(words_of(failure.message), key=len) for failure in load(FAILURES) if failure.message
    }
    assert len(rare) > 100
    near = {word for word in rare if nearest(f"{sentence} {word}")}
    assert near == set()


def words_of(message: str) -> list[str]:
    """Return the words of a message that are one word: all small letters."""
    return re.findall(r"(?<![\w.])[a-z]{3,}(?![\w.])", message) or ["quokka"]


def test_line_of_numbers_is_near_nothing() -> None:
    assert nearest("0 17 42") == ()
