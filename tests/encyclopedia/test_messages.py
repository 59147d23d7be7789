"""The message of a failure: the words that all runs share."""

from __future__ import annotations

import pytest

from encyclopedia.catalogue import load
from encyclopedia.messages import ANY_VALUE, place_in, values_of_one_run


@pytest.mark.parametrize(
    ("message", "values"),
    [
        ("13.71 GiB is reserved by PyTorch but unallocated", ["13.71 GiB"]),
        ("Free memory on device (31.12/44.39 GiB) on startup", ["31.12/44.39 GiB"]),
        ("failed to allocate 7.50G (8053063680 bytes)", ["7.50G", "8053063680 bytes"]),
        ("Process 3318 has memory in use.", ["Process 3318"]),
        ("DataLoader worker (pid 7699) is killed", ["pid 7699"]),
        ("soft lockup - CPU#19 stuck for 26s!", ["CPU#19", "26s"]),
        ("Timed out waiting 1800000ms for recv", ["1800000ms"]),
        ("Rank 3: found NaN in local grad norm", ["Rank 3"]),
        ("LoRA rank 32 is greater than max_lora_rank 16", ["rank 32"]),
        ("nfs: server fs-1 not responding", ["fs-1"]),
        ("addresses of (trainer-head-x2k9p, 50176)", ["trainer-head-x2k9p"]),
        ("cannot open /data/prep/shards/000418", ["/data/prep/shards/000418"]),
        ("No such file: 'checkpoints/rank1-step2000.bin'", ["'checkpoints/rank1-step2000.bin'"]),
    ],
)
def test_a_value_of_one_run_is_named(message: str, values: list[str]) -> None:
    assert values_of_one_run(message) == values


@pytest.mark.parametrize(
    "message",
    [
        "OSError: [Errno 28] No space left on device",
        "Error 802: system not yet initialized",
        "failed (exitcode: -9)",
        "undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        "is not supported for `4-bit` or `8-bit` bitsandbytes models.",
        "Failed to recv, got 0 bytes. Connection was likely closed.",
        "429 Client Error: Too Many Requests for url: https://huggingface.co",
        "We couldn't connect to 'https://huggingface.co' to load",
        "Insufficient nvidia.com/gpu",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Caught RuntimeError in pin memory thread for device",
        "Rank … failed to pass monitoredBarrier in … ms",
    ],
)
def test_a_number_or_a_slash_that_every_run_prints_is_none(message: str) -> None:
    assert values_of_one_run(message) == []


def test_a_message_is_found_in_a_line_whatever_its_values() -> None:
    line = "[rank2]: Process 3318 has 6.31 GiB memory in use."
    assert place_in(line, "Process … has … GiB memory in use.") == 9
    assert place_in(line, "… GiB memory in use") == 30
    assert place_in(line, "has … Process") == -1
    assert place_in(line, "") == -1


def test_no_line_of_the_catalogue_has_the_mark_itself() -> None:
    """Else nobody could tell whether a message leaves a value open or quotes one."""
    for failure in load():
        texts = [text for signature in failure.signatures for text in signature.matches]
        if ANY_VALUE in (failure.message or ""):
            assert not any(ANY_VALUE in text for text in texts), failure.slug
