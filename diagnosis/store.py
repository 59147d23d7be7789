"""Masked logs and verdicts in Redis, for as long as they are kept.

What happens when Redis does not answer, or is full, is decided here: `StoreUnavailableError`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from diagnosis.engine import LogFile
from diagnosis.engine.masking import Masked, Replacement

__all__ = [
    "KeptFile",
    "KeptLog",
    "PackedLog",
    "StoreUnavailableError",
    "about_log",
    "delete",
    "describe",
    "keep_log",
    "keep_verdict",
    "read_log",
    "read_packed",
    "read_verdict",
    "unpack",
]

_TIMEOUT_SECONDS = 2.0
# Log text shrinks to about a tenth at any level; the lowest is the fastest.
_COMPRESSION = 1
_ABOUT = "about"
# A log of access lines holds more addresses than anyone reads, or than the store has room for.
_REPLACEMENTS_KEPT = 50
# No connection, no answer in time, no room left, no right to write: anything else is a bug of ours.
_OUTAGES = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.exceptions.OutOfMemoryError,
    redis.exceptions.ReadOnlyError,
)


class StoreUnavailableError(Exception):
    """Redis does not answer, or has no room left."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A masked file: its name, and its size in lines and bytes."""

    name: str
    lines: int
    size: int


@dataclass(frozen=True, slots=True)
class KeptLog:
    """A masked log, without its text: its files, and what was masked in them.

    `replacements` are the first of them; `replaced` says how many there were.
    """

    files: tuple[KeptFile, ...]
    replacements: tuple[Replacement, ...]
    replaced: int


@dataclass(frozen=True, slots=True)
class PackedLog:
    """A masked log as it is kept: its files in their order, each compressed."""

    about: KeptLog
    files: tuple[bytes, ...]


def keep_log(job_id: str, masked: Masked, seconds: int) -> None:
    """Keep a masked log, compressed, for `seconds`.

    Raises StoreUnavailableError, and then nothing is kept.
    """
    fields: dict[str, bytes] = {_ABOUT: json.dumps(asdict(describe(masked))).encode()}
    for number, log in enumerate(masked.logs):
        fields[str(number)] = zlib.compress(log.data, _COMPRESSION)
    with _answering() as client, client.pipeline(transaction=True) as pipeline:
        pipeline.hset(_log_key(job_id), mapping=cast("Any", fields))
        pipeline.expire(_log_key(job_id), seconds)
        pipeline.execute()


def describe(masked: Masked) -> KeptLog:
    """Return what is kept of a masked log besides its text."""
    files = (KeptFile(log.name, _lines(bytes(log.data)), len(log.data)) for log in masked.logs)
    return KeptLog(tuple(files), masked.replacements[:_REPLACEMENTS_KEPT], len(masked.replacements))


def about_log(job_id: str) -> KeptLog | None:
    """Return what is known of a kept log besides its text; None where it is gone."""
    with _answering() as client:
        about = cast("bytes | None", client.hget(_log_key(job_id), _ABOUT))
    return None if about is None else _kept_log(about)


def read_log(job_id: str) -> tuple[LogFile, ...] | None:
    """Return the masked files of a job in their order; None where they are gone."""
    packed = read_packed(job_id)
    if packed is None:
        return None
    pairs = zip(packed.about.files, packed.files, strict=True)
    return tuple(LogFile(file.name, unpack(data)) for file, data in pairs)


def read_packed(job_id: str) -> PackedLog | None:
    """Return the masked log of a job as it is kept; None where it is gone."""
    with _answering() as client:
        fields = cast("dict[bytes, bytes]", client.hgetall(_log_key(job_id)))
    if not fields:
        return None
    about = _kept_log(fields[_ABOUT.encode()])
    numbers = range(len(about.files))
    return PackedLog(about, tuple(fields[str(number).encode()] for number in numbers))


def unpack(data: bytes) -> bytes:
    """Return the text of one compressed file."""
    return zlib.decompress(data)


def keep_verdict(job_id: str, verdict: str, seconds: int) -> None:
    """Keep a verdict (JSON text) for `seconds`; raises StoreUnavailableError."""
    with _answering() as client:
        client.set(_verdict_key(job_id), zlib.compress(verdict.encode()), ex=seconds)


def read_verdict(job_id: str) -> str | None:
    """Return the verdict as the JSON text that was kept; None where it is gone."""
    with _answering() as client:
        compressed = cast("bytes | None", client.get(_verdict_key(job_id)))
    return None if compressed is None else zlib.decompress(compressed).decode()


def delete(job_id: str) -> None:
    """Remove log and verdict of a job; raises StoreUnavailableError, and then both may remain."""
    with _answering() as client:
        client.delete(_log_key(job_id), _verdict_key(job_id))


def _kept_log(about: bytes) -> KeptLog:
    fields = json.loads(about)
    return KeptLog(
        tuple(KeptFile(**each) for each in fields["files"]),
        tuple(Replacement(**each) for each in fields["replacements"]),
        fields["replaced"],
    )


@contextlib.contextmanager
def _answering() -> Iterator[redis.Redis]:
    """Lend the client; an outage of Redis is a StoreUnavailableError."""
    try:
        yield _client()
    except _OUTAGES as error:
        raise StoreUnavailableError(type(error).__name__) from error


@functools.cache
def _client() -> redis.Redis:
    """Return this process's client: it gives up after two seconds and never tries twice."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=_TIMEOUT_SECONDS,
        socket_connect_timeout=_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def _log_key(job_id: str) -> str:
    return f"diagnosis:{job_id}:log"


def _verdict_key(job_id: str) -> str:
    return f"diagnosis:{job_id}:verdict"


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
