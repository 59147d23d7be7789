from __future__ import annotations

import ipaddress
import json
import re
from pathlib import Path

import pytest

from diagnosis.engine.masking import mask
from diagnosis.engine.text import LogFile

UNTOUCHED = Path(__file__).parent / "masking" / "untouched.txt"
CASES = sorted((Path(__file__).parents[2] / "cases").glob("*/log.txt"))


@pytest.mark.parametrize("line", UNTOUCHED.read_bytes().splitlines(keepends=True))
def test_line_that_tells_nothing_of_anybody_stays(line):
    assert mask([LogFile("log", line)]).logs[0].data == line


def test_untouched_file_comes_back_as_it_is():
    log = LogFile("log", UNTOUCHED.read_bytes())

    masked = mask([log])

    assert masked.logs[0] is log
    assert masked.replacements == ()


def replaced(before: bytes, after: bytes) -> list[tuple[str, str]]:
    """Return the kind and the value of each replacement of a file, in order."""
    pieces = re.split(rb"<(ip|mac|email|user|password|token|key)-\d+>", after)
    values, at = [], len(pieces[0])
    for kind, kept in zip(pieces[1::2], pieces[2::2], strict=True):
        end = before.index(kept, at + 1) if kept else len(before)
        values.append((kind.decode(), before[at:end].decode()))
        at = end + len(kept)
    return values


@pytest.mark.parametrize("log", CASES, ids=lambda path: path.parent.name)
def test_real_logs_lose_addresses_and_users_and_nothing_else(log):
    data = log.read_bytes()
    masked = bytes(mask([LogFile("log", data)]).logs[0].data)

    assert masked.count(b"\n") == data.count(b"\n")
    for kind, value in replaced(data, masked):
        if kind == "ip":
            assert not ipaddress.ip_address(value).is_loopback
        elif kind == "mac":
            assert re.fullmatch("[0-9a-f:]+", value)
        else:
            assert (kind, bool(re.fullmatch(r"[a-z][a-z0-9_]*", value))) == ("user", True)


@pytest.mark.parametrize("log", CASES, ids=lambda path: path.parent.name)
def test_evidence_of_real_logs_survives_but_for_addresses_and_users(log):
    data = log.read_bytes()
    masked = mask([LogFile("log", data)]).logs[0].data.decode("utf-8", "replace")
    truth = json.loads(log.with_name("truth.json").read_text(encoding="utf-8"))

    for evidence in truth["evidence"]:
        words = re.split(
            r"\S*(?:\d\.\d+\.\d+\.\d|[0-9a-f]{4}:[0-9a-f:]+:|/home/|Users)\S*", evidence
        )
        assert all(word in masked for word in words if word.isascii())
