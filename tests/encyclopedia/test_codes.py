"""What people write for one code has one key."""

from __future__ import annotations

import pytest

from encyclopedia.codes import code_in_text, compact, key_of


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Xid 79", "xid-79"),
        ("xid:79", "xid-79"),
        ("xid-79", "xid-79"),
        ("XID 079", "xid-79"),
        ("exit code 137", "exit-137"),
        ("exit-137", "exit-137"),
        ("exited with code 137", "exit-137"),
        ("exit status 1", "exit-1"),
        ("exitcode: -9", "exit-137"),
        ("signal 7", "sigbus"),
        ("SIGBUS", "sigbus"),
        ("[Errno 28]", "enospc"),
        ("errno 28", "enospc"),
        ("ncclRemoteError", "nccl-remote-error"),
        ("NCCL_REMOTE_ERROR", "nccl-remote-error"),
        ("nccl remote error", "nccl-remote-error"),
        ("OOMKilled", "oom-killed"),
    ],
)
def test_the_ways_to_write_a_code_lead_to_its_key(text: str, key: str) -> None:
    assert key_of(text) == key


@pytest.mark.parametrize("key", ["xid-79", "exit-137", "sigbus", "nccl-remote-error"])
def test_a_key_is_its_own_key(key: str) -> None:
    assert key_of(key) == key


@pytest.mark.parametrize(
    "text", ["", "137", "signal 99", "errno 999", "KeyError: 'mask'", "a/b", "-", "💥", "x;y"]
)
def test_what_is_no_code_has_no_key(text: str) -> None:
    assert key_of(text) is None


def test_a_code_is_found_within_a_sentence() -> None:
    assert code_in_text("why does my pod end with exit code 137 on Kubernetes") == "exit-137"
    assert code_in_text("signal 11 after exit code 1") == "sigsegv"


@pytest.mark.parametrize("text", ["taxid 79", "no code at all", "signal 99", ""])
def test_a_sentence_without_a_code_has_none(text: str) -> None:
    assert code_in_text(text) is None


def test_hyphens_do_not_matter() -> None:
    assert compact("oom-killed") == compact("oomkilled")
