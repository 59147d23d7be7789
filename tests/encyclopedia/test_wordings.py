"""What a failure prints, one line for each signature."""

from __future__ import annotations

from dataclasses import replace

import pytest

from encyclopedia.catalogue import Catalogue, load
from encyclopedia.wordings import telling_line, wordings


def test_the_line_with_the_least_around_the_message_is_shown(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    assert wordings(failure) == ("[rank3]: OSError: [Errno 28] No space left on device",)


def test_of_a_block_the_line_with_the_message_is_shown(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    text = "before\n  OSError: [Errno 28] No space left on device: 'x'\nafter"
    signature = replace(failure.signatures[0], matches=(text,))
    assert wordings(replace(failure, signatures=(signature,))) == (
        "OSError: [Errno 28] No space left on device: 'x'",
    )


def test_advice_is_no_message(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    signature = replace(failure.signatures[0], role="advice")
    assert wordings(replace(failure, signatures=(signature,))) == ()


def test_a_wording_stands_once(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    assert len(wordings(replace(failure, signatures=failure.signatures * 2))) == 1


# The line that lists show


def test_a_list_shows_the_line_of_the_message_without_its_prefixes(
    small_catalogue: Catalogue,
) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    assert telling_line(failure) == "OSError: [Errno 28] No space left on device"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Disk is full", "Disk is full"),
        ("is full of", f"{'x' * 61} Disk is full of checkpoints"),
    ],
)
def test_a_message_that_comes_late_in_its_line_is_shown_alone_if_it_can_be(
    small_catalogue: Catalogue, message: str, shown: str
) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    signature = replace(failure.signatures[0], matches=(f"{'x' * 61} Disk is full of checkpoints",))
    assert telling_line(replace(failure, message=message, signatures=(signature,))) == shown


def test_without_a_line_the_message_is_shown_alone(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    assert telling_line(replace(failure, message="no inode left")) == "no inode left"


def test_a_failure_without_a_message_is_listed_with_a_line_that_it_prints(
    small_catalogue: Catalogue,
) -> None:
    failure = replace(small_catalogue.failures["scratch-disk-full"], message=None)
    assert telling_line(failure) in wordings(failure)
    assert telling_line(replace(failure, signatures=())) == ""


def test_each_signature_of_the_catalogue_has_its_line() -> None:
    for failure in load():
        printing = [each for each in failure.signatures if each.role != "advice"]
        assert bool(wordings(failure)) == bool(printing), failure.slug
