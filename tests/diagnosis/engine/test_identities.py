"""Who was which rank, from the lines that say so; a line per fact, derived facts marked."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnosis.engine import Compiled, LogFile
from diagnosis.engine.envelope_files import Entry, Sample, read_entries
from diagnosis.engine.identities import (
    Identities,
    RankFacts,
    read_identities,
)
from diagnosis.engine.log import read
from diagnosis.engine.patterns import BytePattern
from diagnosis.engine.sightings import CaptureReader, IdentityPattern
from diagnosis.engine.sources import Source
from tests.diagnosis.engine.logs import announced, elastic_failed, of_rank

ENTRIES = read_entries().identities


def identities(compiled: Compiled, *parts: str, name: str = "log.txt") -> Identities:
    return read_identities(read([LogFile(name, "\n".join(parts).encode())], compiled))


def facts(known: Identities, rank: int, *names: str) -> tuple[object, ...]:
    return tuple(getattr(known.of_rank(rank), name) for name in names)


def failure(rank: int, local_rank: int, host: str, pid: int) -> str:
    """Return a failure of torchelastic's summary."""
    return (
        f"[0]:\n  time      : 2026-11-30_05:53:43\n  host      : {host}\n"
        f"  rank      : {rank} (local_rank: {local_rank})\n"
        f"  exitcode  : -9 (pid: {pid})\n  error_file: <N/A>"
    )


@pytest.mark.parametrize(
    ("entry", "sample"),
    [
        pytest.param(entry, sample, id=f"{entry.name}:{number}")
        for entry in ENTRIES
        for number, sample in enumerate(entry.samples)
    ],
)
def test_sample_tells_what_it_says(entry: Entry[IdentityPattern], sample: Sample) -> None:
    captures = CaptureReader(entry.meaning).read(sample.line.encode()) or {}
    for name, value in sample.tells.items():
        assert captures[name].decode() == str(value), name


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_masked_sample_is_found_alike(entry: Entry[IdentityPattern]) -> None:
    for sample in entry.samples:
        host = sample.tells.get("host")
        if host is not None:
            line = sample.line.replace(host, "<ip-1>").encode()
            assert BytePattern(entry.meaning.pattern).search(line)
            captures = CaptureReader(entry.meaning).read(line) or {}
            assert captures["host"] == b"<ip-1>"


def test_the_patterns_for_the_scan_are_those_of_the_files(compiled: Compiled) -> None:
    assert [each.name for each in compiled.envelopes.identities] == [
        entry.name for entry in ENTRIES
    ]


def test_a_rank_that_greets_tells_pid_host_and_world(compiled: Compiled) -> None:
    known = identities(compiled, announced(4))
    assert (known.world_size, known.world.derived) == (4, False)
    assert known.announced == (0, 1, 2, 3)
    assert facts(known, 3, "pid", "host") == (9003, "node-a")


def test_each_fact_has_its_line(compiled: Compiled) -> None:
    known = identities(compiled, "noise", announced(2))
    assert known.of_rank(1).line.start > known.world.line.start > 0


def test_a_pid_gives_its_rank(compiled: Compiled) -> None:
    known = identities(compiled, announced(4))
    assert known.rank_of(Source(pid=9002)) == 2
    assert known.rank_of(Source(pid=1)) is None


def test_a_pid_of_another_host_is_another_process(compiled: Compiled) -> None:
    known = identities(compiled, failure(0, 0, "gpu-a-017", 7), failure(8, 0, "gpu-a-018", 7))
    assert known.rank_of(Source(pid=7)) is None
    assert known.rank_of(Source(pid=7, host="gpu-a-018")) == 8
    assert known.rank_of(Source(pid=7, host="gpu-a-018.example.org")) == 8


def test_a_summary_ties_host_rank_local_rank_and_pid(compiled: Compiled) -> None:
    known = identities(compiled, failure(6, 2, "gpu-a-018", 26174))
    assert facts(known, 6, "local_rank", "host", "pid") == (2, "gpu-a-018", 26174)


def test_summaries_of_two_nodes_that_are_mixed_are_kept_apart(compiled: Compiled) -> None:
    one = [f"[pod/a-0/t] {line}" for line in failure(1, 1, "gpu-a-017", 11).splitlines()]
    other = [f"[pod/b-0/t] {line}" for line in failure(9, 1, "gpu-a-018", 12).splitlines()]
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    known = identities(compiled, *mixed)
    assert facts(known, 1, "host", "pid") == ("gpu-a-017", 11)
    assert facts(known, 9, "host", "pid") == ("gpu-a-018", 12)


def test_an_agents_line_is_tied_by_the_pid(compiled: Compiled) -> None:
    known = identities(compiled, announced(4), elastic_failed(2, 9002, -9))
    assert facts(known, 2, "local_rank", "pid") == (2, 9002)


def test_on_one_node_a_local_rank_is_the_rank(compiled: Compiled) -> None:
    known = identities(compiled, announced(4), elastic_failed(3, 9003))
    assert known.rank_of(Source(local_rank=1)) == 1


def test_a_launcher_that_starts_all_ranks_on_one_node_says_the_same(compiled: Compiled) -> None:
    known = identities(compiled, "$ torchrun --nnodes=1 --nproc_per_node=4 train.py")
    assert (known.world_size, known.rank_of(Source(local_rank=2))) == (4, 2)


def test_on_several_nodes_a_local_rank_alone_is_nobody(compiled: Compiled) -> None:
    known = identities(compiled, announced(4), failure(3, 1, "gpu-a-018", 12))
    assert known.rank_of(Source(local_rank=1)) is None
    assert known.rank_of(Source(local_rank=1, host="gpu-a-018")) == 3
    assert known.rank_of(Source(local_rank=1, host="gpu-a-017")) is None


def test_processes_that_python_spawned_are_on_one_node(compiled: Compiled) -> None:
    known = identities(compiled, "-- Process 5 terminated with the following error:")
    assert (known.announced, known.rank_of(Source(local_rank=2))) == ((5,), 2)


def test_a_run_of_one_rank_has_no_other(compiled: Compiled) -> None:
    known = identities(compiled, "WORLD_SIZE=1", "[rank0]: x")
    assert known.rank_of(Source()) == 0
    assert known.rank_of(Source(role="kernel")) is None


def test_a_run_of_one_process_that_counts_no_ranks_has_none(compiled: Compiled) -> None:
    known = identities(compiled, "WORLD_SIZE=1", "step 3")
    assert (known.world_size, known.rank_of(Source())) == (1, None)


@pytest.mark.parametrize(
    ("lines", "world", "rank"),
    [
        (["LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]"], 1, 0),
        (["LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1]"], None, None),
        (
            [
                "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2",
                "LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]",
            ],
            2,
            None,
        ),
        (["LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]", "[rank3]: x"], None, None),
    ],
)
def test_a_trainer_that_sees_one_device_is_a_run_of_one_unless_told_otherwise(
    compiled: Compiled, lines: list[str], world: int | None, rank: int | None
) -> None:
    known = identities(compiled, *lines)
    assert (known.world_size, known.rank_of(Source())) == (world, rank)


PROXY = (
    "node-a:77:80 [{device}] proxy.cc:1526 NCCL WARN [Proxy Service {rank}] Failed to execute"
    " operation Setup from rank {rank}, retcode 1"
)


def test_what_a_proxy_says_is_the_rank_of_its_device_in_the_process(compiled: Compiled) -> None:
    known = identities(compiled, *(PROXY.format(device=n, rank=n + 4) for n in (0, 1)))
    of_device = Source(host="node-a", pid=77, device=1)
    assert known.rank_of(of_device) == 5
    assert known.rank_of(dataclasses.replace(of_device, device=2)) is None
    assert known.rank_of(dataclasses.replace(of_device, pid=78)) is None


def test_a_device_with_two_ranks_has_none(compiled: Compiled) -> None:
    known = identities(compiled, *(PROXY.format(device=1, rank=n) for n in (0, 1)))
    assert known.rank_of(Source(host="node-a", pid=77, device=1)) is None


def test_the_line_that_ties_a_process_to_its_rank_prints_both(compiled: Compiled) -> None:
    known = identities(compiled, "[rank2]: x", announced(4), failure(2, 2, "gpu-a-017", 9002))
    assert b"pid 9002" in known.line_of(2, 9002).facts.message
    assert known.line_of(2, None).facts.message == b"x"
    assert known.line_of(7, None) is None


def test_tee_ties_local_ranks_to_ranks(compiled: Compiled) -> None:
    lines = [f"[default{rank % 8}]:[rank{rank}]: x" for rank in (3, 11, 19)]
    known = identities(compiled, *lines)
    assert facts(known, 11, "local_rank") == (3,)
    assert known.rank_of(Source(local_rank=3)) is None


def test_a_label_counts_ranks_where_each_task_is_a_rank(compiled: Compiled) -> None:
    known = identities(compiled, *(f"{rank}: [rank{rank}]: x" for rank in (0, 3)))
    assert (known.labels_are, known.rank_of(Source(label="2"))) == ("rank", 2)


def test_a_label_counts_nodes_where_other_ranks_stand_behind_it(compiled: Compiled) -> None:
    known = identities(compiled, "0: [rank1]: x", "1: [rank9]: x")
    assert (known.labels_are, known.rank_of(Source(label="5"))) == ("node", None)


def test_a_label_counts_nodes_where_an_agent_stands_behind_it(compiled: Compiled) -> None:
    known = identities(
        compiled, "0: W1130 06:19:53.682000 23821 torch/distributed/run.py:874] ", "0: [rank0]: x"
    )
    assert known.labels_are == "node"


def test_a_task_is_a_node_where_an_agent_speaks_without_a_label(compiled: Compiled) -> None:
    known = identities(
        compiled, "W1130 06:19:53.682000 23821 torch/distributed/run.py:874] ", "[rank3]: x"
    )
    assert (known.labels_are, known.rank_of(Source(label="0"))) == ("node", None)


def test_the_one_rank_of_a_pod_is_that_of_its_bare_lines(compiled: Compiled) -> None:
    lines = [f"[pod/gpt-{rank}/trainer] [rank{rank}]: x" for rank in range(3)]
    known = identities(compiled, *lines)
    assert known.rank_of(Source(pod="gpt-2")) == 2


def test_a_pod_with_several_ranks_gives_none(compiled: Compiled) -> None:
    lines = [f"[pod/gpt-{rank // 2}/trainer] [rank{rank}]: x" for rank in range(4)]
    assert identities(compiled, *lines).rank_of(Source(pod="gpt-1")) is None


def test_a_communicator_of_the_world_gives_ranks(compiled: Compiled) -> None:
    lines = [
        f"gpu-a-017:{3500 + rank}:3940 [{rank}] NCCL INFO comm 0x5c00bb80 rank {rank} nranks 2"
        f" cudaDev {rank} busId 34000 - Init COMPLETE"
        for rank in range(2)
    ]
    known = identities(compiled, *lines)
    assert (known.world_size, known.world.derived) == (2, True)
    assert facts(known, 1, "pid", "host") == (3501, "gpu-a-017")


def test_a_communicator_of_a_part_gives_none(compiled: Compiled) -> None:
    known = identities(
        compiled,
        "WORLD_SIZE=8",
        "gpu-a-017:3500:3940 [4] NCCL INFO comm 0x5c00bb80 rank 0 nranks 2 cudaDev 4 busId 34000"
        " - Init COMPLETE",
    )
    assert (known.world_size, known.announced) == (8, ())


def test_a_rank_within_a_group_stands_for_the_rank_until_a_line_shows_them_to_differ(
    compiled: Compiled,
) -> None:
    assert identities(compiled, "x").rank_of(Source(group_rank=3)) == 3
    known = identities(
        compiled, "[rank19]:[E603 14:55:41.204 ProcessGroupNCCL.cpp:565] [Rank 3] Watchdog caught"
    )
    assert known.rank_of(Source(group_rank=3)) is None


def test_ray_and_lightning_tie_pids(compiled: Compiled) -> None:
    known = identities(
        compiled,
        "(TrainController pid=1) - (ip=192.0.2.2, pid=24662) world_rank=1, local_rank=1,"
        " node_rank=0",
        "(pid=51197) initializing ddp: GLOBAL_RANK: 0, MEMBER: 1/2",
    )
    assert facts(known, 1, "pid", "host", "local_rank", "node_rank") == (24662, "192.0.2.2", 1, 0)
    assert (facts(known, 0, "pid"), known.world_size) == ((51197,), 2)


def test_what_transformers_calls_a_process_rank_is_the_local_one(compiled: Compiled) -> None:
    line = "05/02/2023 09:41:17 - WARNING - __main__ - Process rank: 1, device: cuda:1, n_gpu: 1"
    assert identities(compiled, line).announced == ()


def test_accelerates_indexes_on_lines_of_their_own_are_one_process(compiled: Compiled) -> None:
    known = identities(
        compiled,
        *(
            f"Num processes: 4\nProcess index: {rank}\nLocal process index: {rank % 2}"
            for rank in (1, 2)
        ),
    )
    assert known.world_size == 4
    assert [facts(known, rank, "local_rank") for rank in (1, 2)] == [(1,), (0,)]


def test_mpirun_names_a_rank_and_a_pid_of_nought_is_none(compiled: Compiled) -> None:
    known = identities(
        compiled,
        "mpirun noticed that process rank 5 with PID 0 on node vm exited on signal 11"
        " (Segmentation fault).",
    )
    assert facts(known, 5, "host", "pid") == ("vm", None)


def test_a_world_that_a_rank_lies_beyond_is_not_believed(compiled: Compiled) -> None:
    assert identities(compiled, "world_size=2", "[rank7]: x").world_size is None


def test_processes_a_node_times_nodes_make_the_world(compiled: Compiled) -> None:
    known = identities(compiled, "[launch.py:158:main] nnodes=2, num_local_procs=4, node_rank=0")
    assert (known.world_size, known.world.derived) == (8, True)


def test_the_largest_world_that_is_told_counts(compiled: Compiled) -> None:
    assert identities(compiled, "world_size=1", "world_size=8", "world_size=2").world_size == 8


def test_a_product_with_the_world_in_it_is_no_world(compiled: Compiled) -> None:
    line = (
        "train_batch_size is not equal to micro_batch * gradient_acc_step * world_size 64 != 4 * 8"
    )
    assert identities(compiled, line).world_size is None


def test_the_file_of_a_rank_ties_the_pids_in_it(compiled: Compiled) -> None:
    known = identities(compiled, "world size 4, pid 77, host node-a", name="logs/rank_3.log")
    assert facts(known, 3, "pid", "host") == (77, "node-a")


def test_an_agent_lists_its_ranks(compiled: Compiled) -> None:
    known = identities(compiled, "  global_ranks=[4, 5]", "  global_world_sizes=[6, 6]")
    assert (known.announced, known.world_size) == ((4, 5), 6)


def test_a_rank_of_a_thousand_digits_is_none(compiled: Compiled) -> None:
    assert identities(compiled, f"  global_ranks=[{'9' * 3000}, 1]").announced == (1,)


def test_nothing_told_is_nothing_known(compiled: Compiled) -> None:
    known = identities(compiled, "RuntimeError: x")
    assert (known.world_size, known.announced, known.of_rank(0)) == (None, (), RankFacts())


def test_of_a_large_log_windows_show_the_ranks(compiled: Compiled) -> None:
    lines = "\n".join(
        f"[pod/a-{number % 8}/t] [rank{number % 8}]: step" for number in range(99_000)
    )
    known = identities(compiled, lines)
    assert len(lines) > 2 << 20
    assert known.announced == tuple(range(8))
    assert known.rank_of(Source(pod="a-5")) == 5


PIECES = [sample.line for entry in ENTRIES for sample in entry.samples]


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.sampled_from([*PIECES, of_rank(1, "x"), "[rank0]: x", "3: x"]), max_size=12)
)
def test_any_mixture_of_lines_gives_ranks_within_the_world(
    compiled: Compiled, parts: list[str]
) -> None:
    known = identities(compiled, *parts)
    assert set(known.ranks) == set(known.announced)
    if known.world_size is not None:
        assert all(rank < known.world_size for rank in known.announced)


def test_the_pid_that_a_journal_names_is_no_rank_s(compiled: Compiled) -> None:
    prefix = "Nov 30 06:20:17 gpu-a-017 trainer[4711]: "
    known = identities(compiled, f"{prefix}[rank3]: x", f"{prefix}world size 8")
    assert known.of_rank(3).pid is None
    assert known.rank_of(compiled.envelopes.parse(f"{prefix}y".encode()).source) is None


def test_a_service_of_one_rank_is_that_rank(compiled: Compiled) -> None:
    known = identities(compiled, "WORLD_SIZE=1", "[rank0]: x")
    service = compiled.envelopes.parse(b"Nov 30 06:20:17 gpu-a-017 trainer[4711]: x").source
    daemon = compiled.envelopes.parse(b"Nov 30 06:20:17 gpu-a-017 dockerd[812]: x").source
    assert (known.rank_of(service), known.rank_of(daemon)) == (0, None)


def test_an_agent_behind_a_label_and_a_collector_makes_the_label_a_node(
    compiled: Compiled,
) -> None:
    known = identities(
        compiled,
        "[pod/a-0/b] 1: W1130 06:19:53.682000 23821 torch/distributed/run.py:874] ",
        "[pod/a-0/b] 1: hello",
    )
    assert known.rank_of(compiled.envelopes.parse(b"[pod/a-0/b] 1: hello").source) is None


def test_a_container_is_known_by_its_own_name_and_its_collector_s(compiled: Compiled) -> None:
    prefix = "Nov 30 06:20:17 gpu-a-017 trainer[4711]: "
    block = "  host      : box-1\n  rank      : 3 (local_rank: 1)\n  exitcode  : 1 (pid: 3120)"
    known = identities(compiled, *(prefix + line for line in block.splitlines()))
    assert known.rank_of(Source(host="gpu-a-017", pid=3120)) == 3
    assert known.rank_of(Source(host="gpu-a-018", pid=3120)) is None


def test_a_process_that_calls_its_host_otherwise_than_its_collector_keeps_its_rank(
    compiled: Compiled,
) -> None:
    text = "\n".join(
        f"Nov 30 06:00:01 node-a trainer[811]: {line}"
        for line in (
            "(pid=51208) initializing ddp: GLOBAL_RANK: 1, MEMBER: 2/2",
            "(pid=51208) w-pc:51208:51930 [0] transport/p2p.cc:238 NCCL WARN failed to open it",
        )
    )
    log = read([LogFile("log.txt", text.encode())], compiled)
    source = log.line_at(0, len(text) - 1).facts.source
    assert (source.host, source.collected_from) == ("w-pc", "node-a")
    assert read_identities(log).rank_of(source) == 1


@pytest.mark.parametrize(
    ("ranks_of_nodes", "rank"),
    [((2, 7), 9), ((7, 2), None)],
    ids=["dealt as numbered", "dealt otherwise"],
)
def test_a_local_rank_of_a_numbered_node_is_counted_from_the_node_s_first(
    compiled: Compiled, ranks_of_nodes: tuple[int, int], rank: int | None
) -> None:
    agent = "[2026-11-30 06:08:11,402] torch.distributed.run: [WARNING] Setting OMP_NUM_THREADS"
    told = "Watchdog caught collective operation timeout: x"
    known = identities(
        compiled,
        *(f"{node}: {agent}" for node in range(3)),
        "0: INFO train: world size 12",
        *(
            f"{node}: [E ProcessGroupNCCL.cpp:475] [Rank {printed}] {told}"
            for node, printed in enumerate(ranks_of_nodes)
        ),
    )
    assert known.rank_of(Source(label="2", local_rank=1)) == rank
