"""What a failure prints, one line for each signature."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from encyclopedia.catalogue import Catalogue, Requirement, Signature, load
from encyclopedia.wordings import stated_by, telling_line, wordings


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


def test_a_long_line_is_cut_between_words_and_says_so(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    text = f"OSError: [Errno 28] No space left on device: {'many words ' * 40}"
    signature = replace(failure.signatures[0], matches=(text,))
    (wording,) = wordings(replace(failure, signatures=(signature,)))
    assert len(wording) <= 300
    assert wording.endswith((" many …", " words …"))


def test_no_message_of_the_catalogue_ends_inside_a_word() -> None:
    for failure in load():
        texts = "\n".join(text for each in failure.signatures for text in each.matches)
        for wording in (*wordings(failure), telling_line(failure)):
            assert len(wording) <= 300, failure.slug
            if wording.endswith(" …"):
                cut = re.escape(wording.removesuffix(" …"))
                assert re.search(rf"{cut}[^\w]", texts), wording


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
        printing = [
            each
            for each in failure.signatures
            if each.role != "advice" and not _needs_another_line(each)
        ]
        assert bool(wordings(failure)) == bool(printing), failure.slug


# Lines that say nothing alone


def _needs_another_line(signature: Signature) -> bool:
    return any(each.within in ("source", "log") for each in signature.requires)


def test_a_line_that_needs_another_elsewhere_in_the_log_is_no_message(
    small_catalogue: Catalogue,
) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    for within, shown in (("log", False), ("source", False), ("event", True)):
        requires = (Requirement("Killed", within),)
        half = replace(failure.signatures[0], requires=requires)
        changed = replace(failure, signatures=(half,))
        assert bool(wordings(changed)) == shown
        assert bool(stated_by(changed)) == shown
        assert bool(telling_line(changed)) == shown
        whole = replace(failure, signatures=(half, failure.signatures[0]))
        assert stated_by(whole) == failure.message


def test_no_healthy_line_of_the_catalogue_states_a_failure() -> None:
    """Checked by hand: these stand in every log of a run that loads, saves or offloads."""
    healthy = [
        "Loading checkpoint shards: 100%|##########| 3/3 [00:12<00:00, 4.16s/it]",
        "[INFO] [utils.py:781:see_memory_usage] Before initializing optimizer states",
        "Saving checkpoint. This may take some time. Retrieving full model state dict...",
        "Running tokenizer on dataset (num_proc=8): 100%",
        "gpu-b-07:240:240 [6] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>",
    ]
    for failure in load():
        told = {*wordings(failure), stated_by(failure)} - {""}
        assert not any(words in line for words in told for line in healthy), failure.slug
