"""Pieces of logs as the frameworks print them, to build a log for one test."""

from __future__ import annotations

import functools

from diagnosis.engine import Compiled, LogFile, Verdict, diagnose, load_compiled

PEER_CLOSED = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by"
    " peer [127.0.0.1]:37252"
)


def traceback(error: str, *, prefix: str = "", file: str = "/app/train.py", line: int = 42) -> str:
    """Return a traceback of two frames, the outer one the user's, that ends in `error`."""
    return "\n".join(
        f"{prefix}{text}"
        for text in (
            "Traceback (most recent call last):",
            f'  File "{file}", line {line}, in train',
            "    loss.backward()",
            '  File "/opt/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward',
            "    torch.autograd.backward(",
            error,
        )
    )


def of_rank(rank: int, error: str) -> str:
    """Return the traceback of a rank, with the prefix that torch gives it."""
    return traceback(error, prefix=f"[rank{rank}]: ")


def announced(ranks: int) -> str:
    """Return the lines on which ranks announce themselves."""
    return "\n".join(
        f"2026-11-30 06:20:17,05{rank % 10} INFO train: [rank {rank}] world size {ranks},"
        f" pid {9000 + rank}, host node-a"
        for rank in range(ranks)
    )


def steps(first: int, last: int, *, rank: int | None = None) -> str:
    """Return lines of progress."""
    who = "" if rank is None else f"[rank {rank}] "
    return "\n".join(
        f"2026-11-30 06:21:{number % 60:02},000 INFO train: {who}step {number}/1000 | loss 2.31"
        for number in range(first, last + 1)
    )


def watchdog(rank: int, *, seq: int, op: str = "ALLREDUCE", numel: int = 9, enqueued: int) -> str:
    """Return what the watchdog of a rank prints when a collective times out."""
    stamp = f"[rank{rank}]:[E1130 05:53:43.47500000{rank} ProcessGroupNCCL.cpp"
    return (
        f"{stamp}:616] [Rank {rank}] Watchdog caught collective operation timeout:"
        f" WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel},"
        " Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
        f"{stamp}:1785] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception (either an error or"
        f" timeout) detected by watchdog at work: {seq}, last enqueued NCCL work: {enqueued},"
        f" last completed NCCL work: {seq - 1}."
    )


def elastic_failed(local_rank: int, pid: int, exitcode: int = 1) -> str:
    """Return the line on which an agent of torchelastic notices a dead worker."""
    return (
        "E1130 06:20:27.191000 23823 torch/distributed/elastic/multiprocessing/api.py:1002] failed"
        f" (exitcode: {exitcode}) local_rank: {local_rank} (pid: {pid}) of binary: /usr/bin/python3"
    )


def elastic_told(pid: int) -> str:
    """Return the line on which an agent of torchelastic tells a worker to end."""
    return (
        "W1130 06:20:26.631000 23823 torch/distributed/elastic/multiprocessing/api.py:897] Sending"
        f" process {pid} closing signal SIGTERM"
    )


def elastic_summary(*failures: tuple[int, int, int]) -> str:
    """Return torchelastic's summary of (rank, pid, exit code) each, the root cause last."""
    blocks = []
    for number, (rank, pid, exitcode) in enumerate(failures):
        if number == len(failures) - 1:
            blocks.append("-" * 60 + "\nRoot Cause (first observed failure):")
        blocks.append(
            f"[{number}]:\n  time      : 2026-11-30_06:20:26\n  host      : node-a\n"
            f"  rank      : {rank} (local_rank: {rank})\n  exitcode  : {exitcode} (pid: {pid})\n"
            "  error_file: <N/A>\n"
            "  traceback : To enable traceback see: "
            "https://pytorch.org/docs/stable/elastic/errors.html"
        )
    return "\n".join(
        (
            traceback(
                "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
                file="/opt/venv/bin/torchrun",
            ),
            "=" * 60,
            "train.py FAILED",
            "-" * 60,
            "Failures:",
            *blocks,
            "=" * 60,
        )
    )


@functools.cache
def engine() -> Compiled:
    """Return the real catalogue, for tests that hypothesis runs (it prints the arguments)."""
    return load_compiled()


def verdict_on(compiled: Compiled, *parts: str, name: str = "log.txt") -> Verdict:
    """Diagnose the parts joined to one log."""
    return diagnose([LogFile(name, "\n".join((*parts, "")).encode())], compiled)
