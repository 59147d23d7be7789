"""A word, a code or a line of a log finds its page."""

from __future__ import annotations

import pytest

from encyclopedia.search import MOST_CHARACTERS, find

pytestmark = pytest.mark.usefixtures("failures")


def found(text: str) -> list[str]:
    result = find(text)
    return [failure.slug for failure in (*result.stated, *result.hits)]


def test_it_works() -> None:
    assert found("disk space") == ["scratch-disk-full"]


@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 28] No space left on device",
        "2026-11-30 10:00:01 rank 3 OSError: [Errno 28] No space left on device: '/data/x.pt'",
        "no space left",
    ],
)
def test_a_line_of_a_log_finds_its_failure_first(line: str) -> None:
    assert found(line)[0] == "scratch-disk-full"


def test_a_line_that_holds_the_message_states_its_failure() -> None:
    result = find("[rank3]: 10:00:01 oserror: [errno 28] No space left on device: '/data/x.pt'")

    assert [failure.slug for failure in result.stated] == ["scratch-disk-full"]
    assert "scratch-disk-full" not in [failure.slug for failure in result.hits]


def test_a_hyphen_excludes_nothing() -> None:
    """`exitcode: -9` asks for pages with a 9."""
    assert found("-space -left")[0] == "scratch-disk-full"


def test_a_message_counts_more_than_a_mention() -> None:
    """Its look-alike is named in the text of the other, and is found by its own words first."""
    assert found("quota exceeded")[0] == "scratch-quota-exceeded"


def test_any_word_will_do_where_no_page_has_all() -> None:
    result = find("quota brainwave")
    assert not result.has_all_words
    assert result.hits[0].slug == "scratch-quota-exceeded"


@pytest.mark.parametrize(
    "name", ["Scratch Disk Full During a Save", "scratch-disk-full", "disk-full", "Disk Full"]
)
def test_a_name_is_an_exact_hit(name: str) -> None:
    exact = find(name).exact
    assert exact is not None
    assert exact.slug == "scratch-disk-full"


@pytest.mark.parametrize(
    "text", ["zzz", "'", '"', "&|!:*", "\0", "the", "-", "💥", "a\n\nb", "-" * 60, "-" * 60 + "x"]
)
def test_whatever_is_typed_is_answered(text: str) -> None:
    assert find(text).exact is None


def test_a_whole_log_is_cut() -> None:
    assert len(find("word " * 100_000).query) <= MOST_CHARACTERS
