"""The envelopes tell who printed a line; their own samples are the first tests."""

from __future__ import annotations

import datetime
import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine import Compiled, LogFile
from diagnosis.engine.envelope_files import Entry, Sample, load_envelopes, read_entries
from diagnosis.engine.log import read
from diagnosis.engine.sources import (
    SOURCE_FIELDS,
    Envelope,
    Source,
    merge,
    without_escapes,
)
from diagnosis.engine.stamps import StampReader

ENTRIES = read_entries()
ENVELOPES = load_envelopes()

STAMP = b"2026-11-30T00:00:00Z"
# What stands before a sample of an envelope that is bound to a place.
BEFORE = {None: b"", "start": b"", "time": STAMP, "level": STAMP + b" (INFO)"}


def samples_of(entries: Sequence[Entry[Any]]) -> list[ParameterSet]:
    return [
        pytest.param(entry, sample, id=f"{entry.name}:{number}")
        for entry in entries
        for number, sample in enumerate(entry.samples)
    ]


def whole_line(entry: Entry[Envelope], sample: Sample) -> bytes:
    return BEFORE[entry.meaning.follows] + sample.line.encode()


def seconds(told: str) -> Any:
    """Return the seconds of a date, near enough."""
    moment = datetime.datetime.fromisoformat(told).replace(tzinfo=datetime.UTC)
    return pytest.approx(moment.timestamp(), abs=1e-6)


def expected(name: str, told: object) -> object:
    """Return what is told; a time that is written as a date as its seconds."""
    return seconds(told) if name == "time" and isinstance(told, str) else told


def told(line: bytes, *fields: str) -> tuple[object, ...]:
    """Return fields of the source and of the facts of a line, and its bare message."""
    facts = ENVELOPES.parse(line)
    values = [getattr(facts.source if name in SOURCE_FIELDS else facts, name) for name in fields]
    return (*values, facts.message)


@pytest.mark.parametrize(("entry", "sample"), samples_of(ENTRIES.envelopes))
def test_sample_tells_what_it_says(entry: Entry[Envelope], sample: Sample) -> None:
    line = whole_line(entry, sample)
    facts = ENVELOPES.parse(line)
    for name, value in sample.tells.items():
        read = getattr(facts.source if name in SOURCE_FIELDS else facts, name)
        assert read == expected(name, value), name
    if sample.message is not None:
        assert facts.message.decode() == sample.message


@pytest.mark.parametrize(("entry", "sample"), samples_of(ENTRIES.envelopes))
def test_sample_is_read_by_its_own_envelope(entry: Entry[Envelope], sample: Sample) -> None:
    before = {"time": 1, "level": 2}.get(entry.meaning.follows or "", 0)
    assert ENVELOPES.names(whole_line(entry, sample))[before] == entry.name


@pytest.mark.parametrize(("entry", "sample"), samples_of(ENTRIES.times))
def test_time_sample_gives_its_seconds(entry: Entry[Any], sample: Sample) -> None:
    stamp = StampReader(entry.meaning).read(sample.line.encode())
    for name, value in sample.tells.items():
        read = stamp.seconds if name == "time" else getattr(stamp, name)
        assert read == expected(name, value), name


@pytest.mark.parametrize(("entry", "sample"), samples_of(ENTRIES.paths))
def test_path_sample_tells_its_source(entry: Entry[Any], sample: Sample) -> None:
    source = ENVELOPES.source_of_path(sample.line)
    for name, value in sample.tells.items():
        assert getattr(source, name) == value, name


@pytest.mark.parametrize(
    "path", ["", "log.txt", "crash.log", "out/train.log", "a" * 5000, "\udcff"]
)
def test_a_plain_name_tells_nobody(path: str) -> None:
    assert ENVELOPES.source_of_path(path) == Source()


@pytest.mark.parametrize(
    ("line", "fields", "values", "message"),
    [
        pytest.param(
            b"[pod/bert-worker-0/trainer] 2026-11-30T06:39:47.1Z [default3]:[rank7]:[E1130"
            b" 06:39:47.671944748 ProcessGroupNCCL.cpp:616] [Rank 7] Watchdog caught collective",
            ("pod", "local_rank", "rank", "group_rank", "severity", "zone_known"),
            ("bert-worker-0", 3, 7, 7, "error", True),
            b"Watchdog caught collective",
            id="kubectl, torchrun, c10d",
        ),
        pytest.param(
            b'i.pretrain/0 [default2]:[rank2]:   File "/app/train.py", line 3, in main',
            ("label", "local_rank", "rank"),
            ("i.pretrain/0", 2, 2),
            b'  File "/app/train.py", line 3, in main',
            id="NeMo-Run, torchrun",
        ),
        pytest.param(
            b"kb-llm-1  | 2024-04-27 10:13:05.120 | ERROR    | app:serve:12 - it failed",
            ("container", "severity", "time_text"),
            ("kb-llm-1", "error", "2024-04-27 10:13:05.120"),
            b"it failed",
            id="compose, loguru",
        ),
        pytest.param(
            b"10.37.13.81: gpu-a-018:3511:3940 [5] ib_plugin.c:1615 NCCL WARN NET/IB : Got",
            ("host", "pid", "device", "rank"),
            ("gpu-a-018", 3511, 5, None),
            b"NET/IB : Got",
            id="pdsh, NCCL",
        ),
        pytest.param(
            b"10.5.0.2: kern: warning: [2026-11-30T05:53:43.5Z]: NVRM: Xid (PCI:0000:03:00): 79",
            ("host", "role", "severity", "clock"),
            ("10.5.0.2", "kern", "warning", "date"),
            b"NVRM: Xid (PCI:0000:03:00): 79",
            id="Talos",
        ),
        pytest.param(
            b"master-0 >> 2026-11-30 06:11:24 | [rank0]: Traceback (most recent call last):",
            ("pod", "rank"),
            ("master-0", 0),
            b"Traceback (most recent call last):",
            id="arrows and a bar",
        ),
        pytest.param(
            b"[1803] [default1]:[rank1]: RuntimeError: x",
            ("label", "local_rank", "rank"),
            (None, 1, 1),
            b"RuntimeError: x",
            id="numbered, torchrun",
        ),
        pytest.param(
            b"2026-11-30T05:53:43.1234567Z 10: [rank83]: RuntimeError: x",
            ("label", "rank", "zone_known"),
            ("10", 83, True),
            b"RuntimeError: x",
            id="CI, srun",
        ),
        pytest.param(
            b" 42%|\xe2\x96\x88\xe2\x96\x88   | 42/100 [00:10<00:14,  4.0it/s][rank6]:[E129"
            b" 08:52:52.301884120 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 6]"
            b" x",
            ("rank", "group_rank", "severity"),
            (6, 6, "error"),
            b"x",
            id="progress bar, c10d",
        ),
        pytest.param(
            b'{"log":"2026-11-30 06:42:12,777 INFO pretrain: [rank 8] ready\\n","stream":"stderr",'
            b'"time":"2026-11-30T06:42:12.780985593Z"}',
            ("rank", "severity", "zone_known"),
            (8, "info", True),
            b"ready",
            id="Docker, Python logging",
        ),
        pytest.param(
            b"Nov 30 06:36:04 gpu-a-017 trainer[30781]: (RayTrainWorker pid=24662, ip=10.0.0.7) x",
            ("host", "pid", "role"),
            ("10.0.0.7", 24662, "RayTrainWorker"),
            b"x",
            id="journal, Ray",
        ),
    ],
)
def test_stacked_prefixes_are_all_read(
    line: bytes, fields: tuple[str, ...], values: tuple[object, ...], message: bytes
) -> None:
    assert told(line, *fields) == (*values, message)


COLLECTORS = {
    "kubectl": b"[pod/gpt-mini-0/trainer] %b",
    "kubectl with stamps": b"[pod/gpt-mini-0/trainer] 2026-11-30T06:39:47.136991500Z %b",
    "stern": b"gpt-mini-worker-0 pytorch %b",
    "compose": b"trainer-1  | %b",
    "syslog": b"Nov 30 05:53:43 gpu-a-017 trainer[30781]: %b",
    "container runtime": b"2026-11-30T06:39:47.136991500Z stderr F %b",
    "CI": b"2026-11-30T05:53:43.1234567Z %b",
}


@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize(
    "entry",
    [entry for entry in ENTRIES.envelopes if entry.meaning.follows in (None, "start")],
    ids=lambda entry: entry.name,
)
def test_a_collectors_prefix_changes_nothing_behind_it(
    entry: Entry[Envelope], collector: str
) -> None:
    fields = ("rank", "local_rank", "group_rank", "severity")
    for sample in entry.samples:
        bare = without_escapes(sample.line.encode())[0]
        assert told(COLLECTORS[collector] % bare, *fields) == told(bare, *fields), sample.line


@pytest.mark.parametrize("collector", COLLECTORS)
def test_a_line_in_a_record_reads_like_the_line(collector: str) -> None:
    line = COLLECTORS[collector] % b'[rank3]: assert "x" in table'
    record = json.dumps({"log": f"{line.decode()}\n", "time": "2026-11-30T06:00:00Z"}).encode()
    assert told(record, "rank", "pod", "host") == told(line, "rank", "pod", "host")


@pytest.mark.parametrize(
    "line",
    [
        b"10.0.0.11: [rank2]: x",
        b"10.0.0.11:3511:3940 [5] NCCL WARN x",
        b"(RayTrainWorker pid=24662, ip=10.0.0.11) x",
        b"(raylet, ip=10.0.0.11) x",
        b"Nov 30 06:36:04 10.0.0.11 trainer[30781]: x",
        b"10.0.0.11: kern: warning: [2026-11-30T05:53:43.5Z]: x",
        b"[10.0.0.11] x",
        b"pdsh@head01: 10.0.0.11: ssh exited with exit code 250",
        b"srun: error: 10.0.0.11: task 3: Killed",
        b'{"message": "x", "hostname": "10.0.0.11"}',
    ],
)
def test_a_masked_address_is_read_like_an_address(line: bytes) -> None:
    plain = ENVELOPES.parse(line)
    masked = ENVELOPES.parse(line.replace(b"10.0.0.11", b"<ip-1>"))
    assert plain.source.host == "10.0.0.11"
    assert masked.source == merge(plain.source, Source(host="<ip-1>"))
    assert masked.message == plain.message


@pytest.mark.parametrize(
    "line",
    [
        b"RuntimeError: CUDA error: an illegal memory access was encountered",
        b"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        b"Epoch 3: loss 2.11",
        b"step 10/200 | loss 6.43 | grad_norm 0.43",
        b"    return self._call_impl(*args, **kwargs)",
        b'  File "/app/train.py", line 42, in main',
        b"frame #3: c10d::ProcessGroupNCCL::WorkNCCL::wait() + 0x56 (0x7f41a in /lib/x.so)",
        b"libstdc++.so.6: cannot open shared object file",
        b"[1]:",
        b"  rank      : 6 (local_rank: 6)",
        b"| 0   N/A  N/A      2187      C   python                          40212MiB |",
        b"{'loss': 2.1, 'epoch': 0.3}",
        b"Rank 0 has data parallel group : [0, 1, 2, 3]",
        b"",
        b" ",
    ],
)
def test_a_bare_message_stays_whole_and_nobodys(line: bytes) -> None:
    facts = ENVELOPES.parse(line)
    assert (facts.source, facts.message, facts.message_offset) == (Source(), line, 0)


def test_a_rank_within_a_group_is_no_global_rank() -> None:
    line = b"[E ProcessGroupNCCL.cpp:566] [Rank 7] Watchdog caught collective operation timeout"
    assert told(line, "rank", "group_rank")[:2] == (None, 7)


def test_what_the_line_tells_goes_before_what_its_file_tells() -> None:
    facts = ENVELOPES.parse(b"[rank3]: x", Source(rank=1, host="gpu-a-018", attempt=2))
    assert facts.source == Source(rank=3, host="gpu-a-018", attempt=2, role="worker")


def test_merge_lets_the_inner_source_go_first() -> None:
    outer, inner = Source(rank=1, host="a"), Source(rank=2, pid=5)
    assert merge(outer, inner) == Source(rank=2, host="a", pid=5)


def test_the_callers_year_fills_a_stamp_without_one() -> None:
    line = b"E1130 05:53:43.475000 26159 torch/x.py:1] failed"
    facts = ENVELOPES.parse(line, year=2026)
    assert (facts.time, facts.clock) == (seconds("2026-11-30T05:53:43.475"), "date_without_year")


def test_the_collectors_stamp_is_the_time_and_all_stamps_are_kept() -> None:
    facts = ENVELOPES.parse(b"2026-11-30T06:00:01Z 2026-11-30 07:00:00,500 INFO train: x")
    assert facts.time == seconds("2026-11-30T06:00:01")
    assert [stamp.text for stamp in facts.stamps] == [
        "2026-11-30T06:00:01Z",
        "2026-11-30 07:00:00,500",
    ]


def test_a_dated_stamp_goes_before_the_time_since_boot() -> None:
    facts = ENVELOPES.parse(b"[12.345678] Nov 30 05:53:43 gpu-a-017 kernel: x", year=2026)
    assert (facts.clock, facts.time) == ("date_without_year", seconds("2026-11-30T05:53:43"))


def test_an_impossible_date_is_no_time() -> None:
    assert told(b"2026-13-41 06:11:24,775 INFO train: x", "time", "clock")[:2] == (None, None)


def test_colours_are_cut_and_the_offset_is_that_of_the_line_as_given() -> None:
    line = b"\x1b[36m(RayTrainWorker pid=7)\x1b[0m \x1b[1mRuntimeError: x\x1b[0m"
    facts = ENVELOPES.parse(line)
    assert (facts.source.pid, facts.message) == (7, b"RuntimeError: x")
    assert line[facts.message_offset :].startswith(b"RuntimeError")


def test_a_record_cut_short_gives_its_message_as_far_as_it_goes() -> None:
    line = b'{"log":"[rank3]: assert \\"x\\" in table, \\"' + b"y" * 50
    assert told(line, "rank") == (3, b'assert "x" in table, "' + b"y" * 50)


def test_a_record_without_a_message_is_left_as_it_is() -> None:
    line = b'{"loss": 2.1, "rank": 3}'
    assert told(line, "rank") == (None, line)


def test_a_rank_that_is_no_number_is_not_told() -> None:
    assert told(b'{"message": "x", "rank": "main", "pid": 7}', "rank", "pid") == (None, 7, b"x")


def test_files_shown_one_after_the_other_keep_their_sources(compiled: Compiled) -> None:
    data = (
        b"before\n==> node_logs/gpu-a-017.out <==\none\n"
        b"a ==> b <== c\n\n==> node_logs/rank_3.log <==\r\ntwo\n"
    )
    log = read([LogFile("gpu-a-016.out", data)], compiled)

    def source_at(text: bytes) -> Source:
        return log.line_at(0, data.index(text)).facts.source

    assert source_at(b"before").host == "gpu-a-016"
    assert source_at(b"one").host == "gpu-a-017"
    assert source_at(b"a ==>").host == "gpu-a-017"
    assert (source_at(b"two").rank, source_at(b"two").host) == (3, None)


def test_envelopes_pickle_with_what_they_read() -> None:
    line = b"[pod/a-0/t] 2026-11-30T06:00:01Z [rank2]: x"
    ENVELOPES.parse(line)
    again = pickle.loads(pickle.dumps(ENVELOPES))
    assert again == ENVELOPES
    assert again.parse(line) == ENVELOPES.parse(line)


def test_a_long_line_is_told_by_its_front() -> None:
    front = b"[pod/a-0/t] 2026-11-30T06:00:01Z [rank2]: "
    facts = ENVELOPES.parse(front + b"a-1 " * 500_000)
    assert (facts.source, facts.message_offset) == (ENVELOPES.parse(front).source, len(front))


PIECES = [sample.line.encode() for entry in ENTRIES.envelopes for sample in entry.samples]
HOSTILE = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.one_of(
            st.sampled_from(PIECES),
            st.sampled_from(
                [b"\x1b[", b"[", b"(", b'{"log":"', b"\x00", b"\xff", b": ", b"9" * 40]
            ),
            st.binary(max_size=8),
        ),
        max_size=8,
    ).map(b"".join),
)


@given(HOSTILE)
def test_any_bytes_give_facts_whose_message_is_the_end_of_the_line(line: bytes) -> None:
    facts = ENVELOPES.parse(line)
    assert 0 <= facts.message_offset <= len(line)
    if not line.lstrip(b"\x1b").startswith(b"{") and b"\x1b" not in line and b"{" not in line:
        assert line.rstrip(b"\r\n").endswith(facts.message)
        assert facts.message_offset + len(facts.message) == len(line.rstrip(b"\r\n"))


@given(st.text(max_size=200))
def test_any_path_gives_a_source(path: str) -> None:
    assert isinstance(ENVELOPES.source_of_path(path), Source)


@given(st.lists(st.tuples(st.integers(1, 999), HOSTILE), max_size=5))
def test_any_headers_give_a_source_for_each_offset(headers: list[tuple[int, bytes]]) -> None:
    sections = ENVELOPES.sections("log.txt", sorted(headers))
    assert all(isinstance(sections.at(offset), Source) for offset in range(0, 1000, 50))


def test_pods_are_not_on_the_host_that_collects_their_lines() -> None:
    line = b"Nov 30 06:20:17 gpu-a-017 logs[4711]: [pod/trainer-3/main] [rank3]: x"
    source = ENVELOPES.parse(line).source
    assert (source.host, source.pod, source.rank) == (None, "trainer-3", 3)
