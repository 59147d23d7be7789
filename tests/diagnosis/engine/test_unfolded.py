import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine import Compiled, LogFile
from diagnosis.engine import log as logs
from diagnosis.engine.envelope_files import load_envelopes
from diagnosis.engine.text import Text, prepare
from diagnosis.engine.unfolded import unfold, without_head
from tests.diagnosis.engine.logs import announced, engine, of_rank, traceback, verdict_on

ENVELOPES = load_envelopes()


def prepared(text: str | bytes) -> Text:
    data = text if isinstance(text, bytes) else text.encode()
    return prepare(LogFile("log.txt", data), ENVELOPES.unfold)


def shown(text: str | bytes) -> list[str]:
    return [without_head(line).decode() for line in prepared(text).data.splitlines()]


def record(message: str, **fields: object) -> str:
    return json.dumps({"time": "2026-11-30T06:36:47Z", **fields, "message": message})


def test_each_line_of_a_message_is_a_line() -> None:
    assert shown(record('Traceback:\n  File "a.py"\n\tx\n')) == [
        "Traceback:",
        '  File "a.py"',
        "\tx",
    ]


def test_each_line_keeps_what_the_record_tells(compiled: Compiled) -> None:
    text = record("one\ntwo", rank=3, hostname="gpu-a-017", level="error")
    log = logs.read([LogFile("log.txt", text.encode())], compiled)
    second = log.line_at(0, log.texts[0].data.rindex(b"two"))
    assert second.facts.message == b"two"
    assert (second.facts.source.rank, second.facts.source.host) == (3, "gpu-a-017")
    assert (second.facts.severity, second.facts.time_text) == ("error", "2026-11-30T06:36:47Z")


def test_the_lines_of_a_message_are_of_several_sources(compiled: Compiled) -> None:
    log = logs.read([LogFile("log.txt", record("[rank1]: one\ntwo").encode())], compiled)
    second = log.line_at(0, log.texts[0].data.rindex(b"two"))
    assert second.facts.source.rank is None


def test_line_numbers_are_those_of_the_file() -> None:
    text = prepared("\n".join(("a", record("b\nc\nd"), "e")))
    numbers = [text.line_number(text.data.rindex(word)) for word in (b"a", b"b", b"d", b"e")]
    assert (numbers, text.lines) == ([1, 2, 2, 3], 3)


@pytest.mark.parametrize(
    "prefix",
    ["[pod/trainer-0/main] ", "trainer-1  | ", "2026-11-30T06:20:17.123456789Z stderr F "],
)
def test_a_record_may_stand_behind_a_prefix(prefix: str) -> None:
    assert shown(prefix + record("a\nb")) == [f"{prefix}a", f"{prefix}b"]


@pytest.mark.parametrize(
    "line",
    [
        '{"loss": 2.31, "step": 400}',
        "{'loss': 2.31}",
        'payload {"message": "a\\nb"}',
        '{"message": "cut sho',
        '{"message": {"text": 3}}',
        '["message"]',
    ],
)
def test_what_is_no_record_stays_as_it_is(line: str) -> None:
    assert shown(line) == [line]


def test_colours_and_nul_bytes_in_a_message_go() -> None:
    assert shown(record("\x1b[31mred\x1b[0m\0")) == ["red"]


def test_a_progress_bar_in_a_record_is_redrawn_within_it() -> None:
    assert shown(record("10%\r20%")) == ["10%", "20%"]


def test_a_traceback_in_one_record_is_read(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, announced(2), record(traceback("KeyError: 'mask'"), rank=1))
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 1)
    assert verdict.primary.evidence[0].text == "KeyError: 'mask'"


def test_a_traceback_in_many_records_is_read(compiled: Compiled) -> None:
    lines = of_rank(1, "KeyError: 'mask'").splitlines()
    verdict = verdict_on(compiled, announced(2), *(record(f"{line}\n") for line in lines))
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 1)


def test_a_rank_that_only_a_field_tells_is_seen_first_and_last(compiled: Compiled) -> None:
    verdict = verdict_on(
        compiled, record("hello", rank=1), record("x", rank=0), record("KeyError: 'a'", rank=1)
    )
    fate = next(each for each in verdict.ranks if each.rank == 1)
    assert (fate.first_line, fate.last_line) == (1, 3)


MESSAGES = st.text('ab\n\r"\\\x1f\x1e{}: ', max_size=12)


@given(st.lists(st.one_of(MESSAGES, MESSAGES.map(record)), max_size=6))
def test_no_line_is_gained_or_lost(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    assert prepared(data).lines == prepare(LogFile("log.txt", data)).lines
    assert engine().envelopes.unfold(data).count(b"\n") == data.count(b"\n")


def test_a_text_without_records_is_not_copied() -> None:
    data = b"step 1\nstep 2 {x}\n"
    keys = next(each.json for each in ENVELOPES.envelopes if each.json)
    assert unfold(data, keys, lambda _prefix: True) is data
