"""Which hits are looked at, and where they stand; of a flood, the first and last of each file."""

from __future__ import annotations

import pytest

from diagnosis.engine import Compiled, LogFile, diagnose, load_compiled
from diagnosis.engine import log as logs
from diagnosis.engine.probes import probe_pattern

FLOOD = "RuntimeError: Connection closed by peer [10.0.0.7]:29500\n"
ROOT = (
    "[rank5]: Traceback (most recent call last):\n"
    '[rank5]:   File "/work/train.py", line 12, in main\n'
    "[rank5]:     batch = data[key]\n"
    "[rank5]: KeyError: 'mask'\n"
)


def flood(rank: int, lines: int) -> str:
    return "".join(f"[rank{rank}]: {FLOOD}" for _ in range(lines))


def hits_of(monkeypatch, most, files):
    monkeypatch.setattr(logs, "MOST_HITS", most)
    return logs.read(files, load_compiled())


def test_few_hits_are_all_kept(monkeypatch):
    files = [LogFile("a.log", flood(1, 40).encode())]
    few = hits_of(monkeypatch, 1 << 16, files)
    many = hits_of(monkeypatch, sum(map(len, few.hits.values())), files)
    assert few.hits == many.hits


def test_of_a_flood_the_first_and_the_last_stay(monkeypatch):
    text = flood(1, 500)
    log = hits_of(monkeypatch, 100, [LogFile("a.log", text.encode())])
    kept = sorted(end for found in log.hits.values() for _, end in found)
    assert sum(map(len, log.hits.values())) <= 100
    assert kept[0] < len(text) // 100
    assert kept[-1] > len(text) - len(text) // 100


def test_no_file_loses_its_hits_to_the_flood_of_another(monkeypatch):
    files = [LogFile(f"rank_{rank}.log", flood(rank, 500).encode()) for rank in range(8)]
    log = hits_of(monkeypatch, 200, files)
    for number in range(8):
        assert any(file == number for found in log.hits.values() for file, _ in found)


def test_rare_hits_stay_whole_beside_a_flood(monkeypatch):
    text = flood(1, 300) + ROOT + flood(2, 300)
    monkeypatch.setattr(logs, "MOST_HITS", 200)
    verdict = diagnose([LogFile("a.log", text.encode())], load_compiled())
    assert verdict.primary.rank == 5
    assert "KeyError" in verdict.primary.summary


def test_a_line_whose_message_goes_on_below_ends_at_its_own_end_as_well():
    files = [LogFile("log.txt", b"ChildFailedError:\nof what a box holds")]
    log = logs.read(files, load_compiled())
    line = log.line_at(0, 0)
    log.joined[line.key] = b"ChildFailedError: of what a box holds"
    assert log.lines_with(probe_pattern("elastic-gave-up")) == [line]


@pytest.mark.parametrize(
    ("names", "own"),
    [
        (["log.txt"], ["log.txt"]),
        (["run-rank3/node-1/log.txt"], ["log.txt"]),
        (["run/node-1/a.log", "run/node-2/a.log"], ["node-1/a.log", "node-2/a.log"]),
        (["run/a/x.log", "run/x.log"], ["a/x.log", "x.log"]),
        ([], []),
    ],
)
def test_folders_that_all_files_share_are_nobody_s(names: list[str], own: list[str]) -> None:
    assert logs.own_ends(names) == own


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["my-rank3-run/log.txt"], [None]),
        (["gpu0/rank3/stderr"], [3]),
        (["bert-on-node-7/log.txt"], [None]),
        (["a/rank_3.log"], [3]),
        (["x-rank_1/log.txt", "x-rank_2/log.txt"], [1, 2]),
        (["rank_9/x-rank_1.log", "rank_9/x-rank_2.log"], [1, 2]),
    ],
)
def test_a_folder_tells_the_rank_where_it_tells_files_apart(
    compiled: Compiled, names: list[str], ranks: list[int | None]
) -> None:
    log = logs.read([LogFile(name, b"KeyError: 'mask'\n") for name in names], compiled)
    told = [log.line_at(number, 0).facts.source for number in range(len(names))]
    assert [source.rank for source in told] == ranks
    assert {source.host for source in told} == {None}
