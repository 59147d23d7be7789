"""What people write for one code has one key."""

from __future__ import annotations

import pytest

from encyclopedia.catalogue import load
from encyclopedia.codes import code_in_text, compact, key_of, kind_of
from encyclopedia.cuda_errors import CUDA_ERRORS


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
        ("CUDA error 700", "cuda-error-illegal-address"),
        ("cuda-700", "cuda-error-illegal-address"),
        ("cuda-error-700", "cuda-error-illegal-address"),
        ("cudaErrorIllegalAddress", "cuda-error-illegal-address"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "cuda-error-illegal-address"),
        ("CUDA_ERROR_OUT_OF_MEMORY", "cuda-error-memory-allocation"),
        ("CUDA error 2", "cuda-error-memory-allocation"),
        ("CUDA error 123", "cuda-error-123"),
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


def test_the_name_of_a_signal_is_found_within_a_sentence() -> None:
    assert code_in_text("died with <Signals.SIGKILL: 9>.") == "sigkill"
    assert code_in_text("the signature of sigma") is None


def test_a_version_of_cuda_is_no_error() -> None:
    assert kind_of("CUDA 12") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Xid 999", "Xid 999"),
        ("xid:999", "Xid 999"),
        ("exited with code 253", "exit code 253"),
        ("signal 99", "signal 99"),
        ("[Errno 999]", "errno 999"),
        ("CUDA error 9", "CUDA error 9"),
    ],
)
def test_a_numbered_code_has_a_kind_also_where_nobody_knows_it(text: str, name: str) -> None:
    kind = kind_of(text)
    assert kind is not None
    assert kind.label_of(text) == name


@pytest.mark.parametrize("text", ["SIGKILL", "xid", "Xid 79 on gpu-b-07", "out of memory"])
def test_other_text_has_no_kind(text: str) -> None:
    assert kind_of(text) is None


def test_every_cuda_error_of_the_catalogue_has_its_number() -> None:
    names = {code for failure in load() for code in failure.codes if code.startswith("cuda")}
    assert names
    assert names <= set(CUDA_ERRORS.values())


@pytest.mark.parametrize("text", ["taxid 79", "no code at all", "signal 99", ""])
def test_a_sentence_without_a_code_has_none(text: str) -> None:
    assert code_in_text(text) is None


def test_hyphens_do_not_matter() -> None:
    assert compact("oom-killed") == compact("oomkilled")
