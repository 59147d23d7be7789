import pytest

from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import (
    PEER_CLOSED,
    announced,
    elastic_summary,
    of_rank,
    traceback,
    verdict_on,
    watchdog,
)

PREFIX = "[pod/trainer-0/main] 2026-11-30T06:20:17.123456789Z "


def wrapped(text: str, width: int) -> str:
    lines = [PREFIX + line for line in text.splitlines()]
    return "\n".join(
        line[start : start + width] for line in lines for start in range(0, len(line), width)
    )


def test_a_field_that_a_terminal_cut_in_two_is_read_whole(compiled: Compiled) -> None:
    summary = wrapped(elastic_summary((3, 9003, 1)), 80)
    assert "(local_rank: 3)" not in summary
    verdict = verdict_on(compiled, of_rank(3, "KeyError: 'mask'"), summary)
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 3)


def gathered(printer: int, rank: int, error: str) -> str:
    """Return what `printer` prints of an exception that torch.distributed.checkpoint gathered."""
    name = "CheckpointException"
    return "\n".join(
        f"[rank{printer}]: {line}"
        for line in (
            "Traceback (most recent call last):",
            '  File "/app/train.py", line 88, in save',
            "    dcp.save(state)",
            f"torch.distributed.checkpoint.api.{name}: {name} ranks:dict_keys([{rank}])",
            f"Traceback (most recent call last): (RANK {rank})",
            '  File "/opt/lib/python3.11/site-packages/torch/distributed/checkpoint/fs.py", line 3',
            "    os.fsync(stream.fileno())",
            error,
            "",
        )
    )


@pytest.mark.parametrize("printers", [(0, 1, 2, 3), (0, 1, 3), (0,)])
def test_an_exception_that_all_ranks_print_is_its_own_rank_s(
    compiled: Compiled, printers: tuple[int, ...]
) -> None:
    error = "OSError: [Errno 28] No space left on device"
    parts = [gathered(printer, 2, error) for printer in printers]
    verdict = verdict_on(compiled, announced(4), *parts)
    assert verdict.primary.failure.slug == "disk-full-during-checkpoint-save"
    assert (verdict.primary.rank, verdict.primary.rank_basis) == (2, "printed")


def test_an_unknown_exception_that_was_gathered_goes_before_the_report_of_it(
    compiled: Compiled,
) -> None:
    parts = [gathered(printer, 2, "ZarrBoomError: odd") for printer in range(4)]
    verdict = verdict_on(compiled, announced(4), *parts)
    assert verdict.primary.summary.startswith("ZarrBoomError: odd")
    assert verdict.primary.rank == 2


def test_a_rank_s_line_glued_to_another_s_is_its_own(compiled: Compiled) -> None:
    one, other = of_rank(0, PEER_CLOSED), of_rank(1, "KeyError: 'mask'")
    verdict = verdict_on(compiled, announced(2), f"{one}{other}")
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 1)


def test_an_exception_of_a_loader_s_worker_is_that_of_the_spawned_rank_that_raises_it_again(
    compiled: Compiled,
) -> None:
    again = traceback("OSError: Caught OSError in DataLoader worker process 1.")
    original = traceback("OSError: image file is truncated (17 bytes not processed)")
    verdict = verdict_on(
        compiled,
        "torch.multiprocessing.spawn.ProcessRaisedException: ",
        "",
        "-- Process 3 terminated with the following error:",
        again,
        f"Original {original}",
    )
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("corrupt-training-data-file", 3)


def shard_output(rank: int, error: str) -> str:
    """Return what Text Generation Inference prints of a shard that wrote an error and ended."""
    head = "2026-11-30T06:20:17.701460Z ERROR shard-manager: text_generation_launcher: "
    return f"{head}Shard complete standard error output:\n\n{traceback(error)}\n rank={rank}\n"


def test_the_output_of_a_shard_that_a_launcher_quotes_is_that_of_its_rank(
    compiled: Compiled,
) -> None:
    started = "2026-11-30T06:20:10Z  INFO text_generation_launcher: Starting shard rank=0"
    verdict = verdict_on(compiled, started, shard_output(1, "KeyError: 'mask'"))
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 1)


def test_the_output_of_a_shard_that_is_cut_is_nobody_s(compiled: Compiled) -> None:
    cut = shard_output(1, "KeyError: 'mask'").partition(" rank=")[0]
    verdict = verdict_on(compiled, cut, "2026-11-30T06:20:18Z  INFO Shard terminated rank=0")
    assert verdict.primary.rank is None


def test_a_block_of_an_old_torchelastic_names_its_rank(compiled: Compiled) -> None:
    """In torch 1.9 and 1.10 no blanks stand before the colons."""
    block = (
        "Root Cause:\n[0]:\n  time: 2026-11-30_06:01:22\n  rank: 1 (local_rank: 1)\n"
        '  exitcode: -11 (pid: 5528)\n  error_file: <N/A>\n  msg: "Signal 11 (SIGSEGV) received'
        ' by PID 5528"\n'
    )
    verdict = verdict_on(compiled, announced(2), block)
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("process-segfault", 1)


def test_a_bar_behind_which_another_rank_speaks_is_not_that_rank_s(compiled: Compiled) -> None:
    bar = "Running tokenizer on dataset:   9%|\u2588   | 280/2969 [29:55<4:48:08, 15.57 examples/s]"
    late = watchdog(2, seq=2, numel=1, enqueued=2).splitlines()[0]
    others = [watchdog(rank, seq=2, numel=1, enqueued=2) for rank in (1, 3)]
    verdict = verdict_on(compiled, announced(4), f"{bar}{late}", *others)
    assert verdict.primary.failure.slug == "rank0-preprocessing-exceeds-timeout"
    assert (verdict.primary.rank, verdict.primary.rank_basis) == (0, "eliminated")


def test_an_exception_that_ray_raises_again_is_that_of_the_innermost_task(
    compiled: Compiled,
) -> None:
    ranks = [
        f"(TrainActor pid={9000 + rank}) [2026-11-30 04:11:03] actor.py:88 - [Rank {rank}] ready,"
        " world_size=4"
        for rank in range(4)
    ]
    tasks = (
        "ray::Outer.run() (pid=9001, ip=10.0.0.7)",
        "ray::TrainActor.step() (pid=9003, ip=10.0.0.7)",
    )
    error = "ray.exceptions.RayTaskError(ValueError): " + "\n".join(
        f'{task}\n  File "/app/actor.py", line 322, in step' for task in tasks
    )
    verdict = verdict_on(compiled, *ranks, traceback(error), "ValueError: seven")
    assert verdict.primary.rank == 3
    assert verdict.primary.host == "10.0.0.7"
