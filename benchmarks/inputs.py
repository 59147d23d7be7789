"""What is measured on: two kinds of log, and patterns like the catalogue's; each time the same."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from diagnosis.engine import load_compiled
from diagnosis.engine.pattern_rules import faults

CASES = Path(__file__).parent.parent / "tests" / "cases"
PATTERNS = 500
RANKS = 64
_WORD = re.compile(r"(?<![\\A-Za-z<])[A-Za-z]{4,}(?![A-Za-z]*>)")


def healthy_log(size: int) -> bytes:
    """Return `size` bytes of 64 healthy ranks, with one failure and its consequences at the end."""
    parts: list[bytes] = []
    length = step = 0
    while length <= size:
        for rank in range(RANKS):
            line = (
                b"[rank%d]: 2026-11-30 06:%02d:%02d,%03d INFO train: step %d/100000 | loss 2.%04d"
                b" | grad_norm 0.%03d | lr 1.65e-03 | 2129.2 tok/s\n"
            ) % (rank, step // 60 % 60, step % 60, rank, step, step % 9999, step % 997)
            parts.append(line)
            length += len(line)
        step += 1
    return b"".join(parts) + _ending()


def _ending() -> bytes:
    """Return what 64 ranks print when rank 41 raises an exception and the others lose it."""
    frames = (
        b"Traceback (most recent call last):",
        b'  File "/app/train.py", line 229, in main',
        b"    loss.backward()",
        b'  File "/opt/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward',
        b"    torch.autograd.backward(",
    )
    lost = (
        b"RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:372"
    )
    lines = []
    for rank in (41, *(rank for rank in range(RANKS) if rank != 41)):
        error = b"KeyError: 'mask'" if rank == 41 else lost
        lines.extend(b"[rank%d]: %s" % (rank, line) for line in (*frames, error))
    return b"\n".join(lines) + b"\n"


def dense_log(size: int) -> bytes:
    """Return about `size` bytes of text dense with failures: the cases, one after the other."""
    cases = b"\n".join(path.read_bytes() for path in sorted(CASES.glob("*/log.txt")))
    return (cases + b"\n") * max(1, size // len(cases))


def adversarial_lines(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and logs of `size` bytes that are meant to slow a matcher down."""
    yield "one line", b"x" * size
    yield "one line of prefixes", b"[rank1]: " * (size // 9)
    yield "headers", b"Traceback (most recent call last):\n" * (size // 35)
    yield "exceptions", b"RuntimeError: Connection closed by peer [10.0.0.7]:1\n" * (size // 53)
    yield "frames", b'  File "/a/b.py", line 1, in f\n' * (size // 31)
    yield "half a message", b"CUDA out of memory. Tried to allo " * (size // 34)
    yield "an exception a line", b"KeyError: 'mask'\n" * (size // 17)
    yield "an exception a rank", _of_each_rank(b"KeyError: 'mask'\n", size)
    yield "an exit code a rank", _of_each_rank(b"  exitcode  : -9 (pid: 2617)\n", size)
    yield "names without values", b"token=" * (size // 6)
    yield "tokens glued together", b"AKIA" * (size // 4)
    yield "brackets", b"[" * size
    yield "digits", b"1234567890." * (size // 11)


def _of_each_rank(line: bytes, size: int) -> bytes:
    return b"".join(b"[rank%d]: %s" % (rank, line) for rank in range(size // (len(line) + 12)))


@cache
def patterns() -> tuple[str, ...]:
    """Return 500 patterns that all tools read: the catalogue's own, and others of their shapes."""
    own = [pattern for pattern in load_compiled().index if _all_read(pattern)]
    made = own[:PATTERNS]
    generator = random.Random(7)
    while len(made) < PATTERNS:
        pattern = _WORD.sub(lambda word: _other_word(generator, word[0]), generator.choice(own))
        if pattern not in made and not list(faults(pattern)):
            made.append(pattern)
    return tuple(made)


def _all_read(pattern: str) -> bool:
    """Say whether grep takes the pattern and finds it, as the engine does, in no healthy line."""
    command = ["grep", "-a", "-E", "-c", "-e", for_other_tools(pattern)]
    done = subprocess.run(command, input=healthy_log(0), capture_output=True, check=False)
    return done.returncode < 2 and int(done.stdout) <= RANKS


def for_other_tools(pattern: str) -> str:
    """Return a pattern as grep -E and rg take it: groups that capture nothing are plain groups."""
    plain = pattern.replace("(?:", "(").replace("(?i:", "(").replace(r"\t", "\t")
    return plain.replace(r"[^\n", "[^\x01").replace(r"\n]", "]").replace(r"\d", "[0-9]")


def _other_word(generator: random.Random, word: str) -> str:
    letters = [generator.choice("bcdfghklmnprstvw" if i % 2 else "aeiou") for i in range(len(word))]
    return "".join(letters).capitalize() if word[0].isupper() else "".join(letters)
