"""Flags, variables and calls in a sentence are shown as code."""

from __future__ import annotations

import re

import pytest

from encyclopedia.catalogue import load
from encyclopedia.code_names import names_as_code


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before torch.",
            "Set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` before torch.",
        ),
        ("Unset LD_LIBRARY_PATH (and LD_PRELOAD).", "Unset `LD_LIBRARY_PATH` (and `LD_PRELOAD`)."),
        ("run with --ipc=host; or --shm-size 16g", "run with `--ipc=host`; or `--shm-size` 16g"),
        ('start with context="spawn".', 'start with `context="spawn"`.'),
        ("call loss.item() and clone(),", "call `loss.item()` and `clone()`,"),
        ("from __getitem__ and __getstate__.", "from `__getitem__` and `__getstate__`."),
        ("torch.cuda.set_device(local_rank) first", "`torch.cuda.set_device(local_rank)` first"),
    ],
)
def test_a_name_that_is_surely_code_is_set_as_code(text: str, shown: str) -> None:
    assert names_as_code(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "The log(s) of rank(s) 3, and/or a non-blocking read -- as above.",
        "Set `NCCL_P2P_DISABLE=1` or `--ipc=host`.",
        "Clear ~/.cache/torch_extensions and /tmp/ray_files.",
        'map_location={"cuda:0": f"cuda:{local_rank}"}',
        "torch.load(path, weights)",
        "the NCCL_* variables, and eval_ keys",
        "tokenizers=",
        "--port=<port> of <host_name>",
        "x = x + y, 7 x 8 = 56",
    ],
)
def test_what_is_prose_a_part_or_code_already_stays(text: str) -> None:
    assert names_as_code(text) == text


def test_a_value_of_a_log_costs_no_more_than_its_length() -> None:
    """A verdict's fix is filled with what the log says, and a log is hostile input."""
    for value in ("a_" * 2000, "a." * 2000, "a=" * 2000, "--a-" * 1000, "a_b(" * 1000, "_" * 4000):
        assert names_as_code(f"The card is {value}<").replace("`", "").endswith("<")


def test_no_word_of_a_fix_is_lost_and_code_is_set_once() -> None:
    changed = 0
    for failure in load():
        summary = failure.fix.summary
        shown = names_as_code(summary)
        assert shown.replace("`", "") == summary.replace("`", "")
        assert names_as_code(shown) == shown, failure.slug
        assert not re.search("``", shown), failure.slug
        changed += shown != summary
    assert changed > 100
