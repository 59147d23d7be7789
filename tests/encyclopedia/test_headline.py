"""Titles that people find by the message they saw."""

from __future__ import annotations

from dataclasses import replace

import pytest

from encyclopedia.catalogue import Catalogue, Failure
from encyclopedia.headline import page_title


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
