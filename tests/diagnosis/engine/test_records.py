from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.records import RecordKeys, open_record

KEYS = RecordKeys(
    (
        ("message", ("log", "record.message")),
        ("rank", ("rank", "extra.rank")),
        ("host", ("host", "host.name")),
    )
)


def opened(record: object) -> tuple[dict[str, bytes], bytes] | None:
    found = open_record(KEYS, json.dumps(record).encode(), 0)
    return None if found is None else (found.fields, found.message)


def test_the_first_key_that_holds_something_counts() -> None:
    record = {"log": "x\n", "record": {"message": "y"}, "rank": 3}
    assert opened(record) == ({"rank": b"3"}, b"x")


def test_a_dot_leads_into_a_nested_object() -> None:
    record = {"record": {"message": "y"}, "extra": {"rank": 3}}
    assert opened(record) == ({"rank": b"3"}, b"y")


def test_a_key_with_a_dot_in_its_name_is_found() -> None:
    assert opened({"log": "x", "host.name": "gpu-a-017"}) == ({"host": b"gpu-a-017"}, b"x")


def test_what_is_neither_text_nor_number_is_passed_over() -> None:
    record = {"log": "x", "host": {"name": "gpu-a-017"}, "rank": True}
    assert opened(record) == ({"host": b"gpu-a-017"}, b"x")


@pytest.mark.parametrize("record", [[], "x", 3, None, {}, {"rank": 3}, {"log": None}])
def test_what_holds_no_message_is_no_record(record: object) -> None:
    assert opened(record) is None


def test_the_offset_is_that_of_the_message_in_the_text() -> None:
    text = b'2026 {"rank": 3, "log" : "RuntimeError: x"}'
    found = open_record(KEYS, text, 5)
    assert found is not None
    assert text[found.offset :].startswith(b"RuntimeError")


@pytest.mark.parametrize(
    ("torn", "message"),
    [
        (b'{"log": "say \\"x\\"', b'say "x"'),
        (b'{"log": "a\\tb\\', b"a\tb"),
        (b'{"log": "a\\u00e', b"a"),
        (b'{"log": "a", "rank": 3, "extr', b"a"),
        (b'{"log": "\xff\\"x', b'\xff"x'),
    ],
)
def test_a_torn_record_gives_its_message_as_far_as_it_goes(torn: bytes, message: bytes) -> None:
    found = open_record(KEYS, torn, 0)
    assert found is not None
    assert (found.fields, found.message) == ({}, message)


def test_a_deeply_nested_record_is_torn_and_no_crash() -> None:
    found = open_record(KEYS, b'{"log":"x","a":' + b"[" * 100_000, 0)
    assert found is not None
    assert found.message.startswith(b"x")


@given(st.one_of(st.binary(), st.text().map(str.encode), st.binary().map(b'{"log": "%b'.__mod__)))
def test_any_bytes_are_a_record_or_none(text: bytes) -> None:
    found = open_record(KEYS, text, 0)
    assert found is None or 0 <= found.offset <= len(text)


def test_what_a_logger_keeps_beside_its_message_is_part_of_it() -> None:
    keys = RecordKeys(KEYS.keys, details=("error", "exc_info", "error.stack", "log"))
    record = {
        "log": "it failed\n",
        "exc_info": "Traceback\nKeyError: 'x'\n",
        "error": {"stack": "at y"},
    }
    found = open_record(keys, json.dumps(record).encode(), 0)
    assert found is not None
    assert found.message == b"it failed\nTraceback\nKeyError: 'x'\nat y"


@pytest.mark.parametrize("detail", ["", "  ", None, 0.021, True, ["x"]])
def test_a_detail_that_is_no_text_is_passed_over(detail: object) -> None:
    keys = RecordKeys(KEYS.keys, details=("error",))
    found = open_record(keys, json.dumps({"log": "x", "error": detail}).encode(), 0)
    assert found is not None
    assert found.message == b"x"
