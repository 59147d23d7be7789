"""Titles that people find by the message they saw."""

from __future__ import annotations

from dataclasses import replace

import pytest

from encyclopedia.catalogue import Catalogue, Failure, load
from encyclopedia.headline import LONGEST_TITLE, page_title


@pytest.fixture
def failure(small_catalogue: Catalogue) -> Failure:
    return small_catalogue.failures["scratch-disk-full"]


def test_it_works(failure: Failure) -> None:
    assert page_title(failure) == (
        "PyTorch: [Errno 28] No space left on device · Scratch Disk Full During a Save"
    )


def test_a_technology_that_begins_the_message_is_not_said_twice(failure: Failure) -> None:
    failure = replace(failure, systems=("CUDA",), message="CUDA out of memory")
    assert page_title(failure).startswith("CUDA out of memory · ")


def test_a_failure_without_a_message_is_called_by_its_title(failure: Failure) -> None:
    assert page_title(replace(failure, message=None)) == "PyTorch: Scratch Disk Full During a Save"


def test_a_long_name_is_cut_at_its_side_remark_or_between_words(failure: Failure) -> None:
    message = "a message that leaves room for a few words"
    longer = "A Name With a Remark That Is Too Long, Which Says Where"
    failure = replace(failure, message=message, title=longer)
    assert page_title(failure) == f"PyTorch: {message} · A Name With a Remark That Is Too …"
    failure = replace(failure, title="A Name With a Remark, Which Says Where and When")
    assert page_title(failure) == f"PyTorch: {message} · A Name With a Remark"


def test_a_message_of_the_driver_begins_with_its_xid(failure: Failure) -> None:
    failure = replace(failure, systems=("NVIDIA driver",), codes=("Xid 79",), message="GPU lost")
    assert page_title(failure).startswith("Xid 79: GPU lost · ")


def test_titles_are_short_and_each_page_has_its_own() -> None:
    titles = [page_title(failure) for failure in load()]
    assert max(map(len, titles)) <= LONGEST_TITLE
    assert len(set(titles)) == len(titles)


def test_the_name_never_pushes_the_message_out_of_the_first_60_characters() -> None:
    for failure in load():
        if failure.message:
            start = page_title(failure).lower().find(failure.message.lower()[:20])
            assert 0 <= start <= 40, failure.slug
