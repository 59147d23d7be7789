"""Whom a line is about: the rank behind its prefix, behind a pid, or named in its own words."""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from diagnosis.engine.identities import Identities
from diagnosis.engine.log import Line, Log
from diagnosis.engine.matches import Observation, capture
from diagnosis.engine.probes import probe_pattern
from diagnosis.engine.progress import shows_bar
from diagnosis.engine.sources import NO_WORKERS, Source
from diagnosis.engine.tracebacks import Chain

__all__ = ["Subject", "Subjects"]

_BLOCK_RANK = probe_pattern("elastic-block-rank")
_BLOCK_CAPTURES = r"rank {0,8}: (?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\)"
_RAY_SNIPPET = probe_pattern("ray-quoted-error")
_RAY_CAPTURES = r"\[Rank (?P<rank>\d+) Error Snippet\]:"
_SNIPPET_BYTES = 1 << 15
# ray/_private/ray_logging/__init__.py: one line stands for the same line of several processes.
_RAY_REPEATED = b"x across cluster]"
# ray/exceptions.py, RayTaskError: the task and its process stand before what it raised.
_RAY_TASK = b"ray::"
_RAY_TASK_CAPTURES = r"ray::[\w.<>]+\(\) ?\(pid=(?P<pid>\d+), ip=(?P<host>[\w.:<>-]+)[,)]"
_SHARD_QUOTE = probe_pattern("tgi-quoted-error")
# The fields of the launcher's record stand in its last line.
_SHARD_FIELDS = re.compile(rb"rank=(?P<rank>\d{1,6})")
_SHARD_LINES = 1000
_SPAWN_QUOTE = probe_pattern("spawn-quoted-error")
# Blank lines between the quotation's header and the traceback that it quotes.
_QUOTE_GAP = 64
_SPAWN_CAPTURES = r"-- Process (?P<local_rank>\d+) terminated"
# torch/distributed/checkpoint/api.py, CheckpointException: the header of a rank's traceback.
_GATHERED_CAPTURES = r"Traceback \(most recent call last\): \(RANK (?P<rank>\d+)\)"
# torch/multiprocessing/spawn.py counts its children from 0.
_SPAWN_INDEX = r"[pP]rocess (?P<index>\d+) terminated with"
# Before torch 1.11 without blanks before the colons, and `msg` for `traceback`.
_BLOCK_FIELDS = (b"exitcode  :", b"exitcode: ", b"error_file:", b"traceback :", b"msg: ")
_BLOCK_TRACEBACK = b"traceback : "
_QUOTED_ERROR = probe_pattern("elastic-quoted-error")


@dataclass(frozen=True, slots=True)
class Subject:
    """The process that a line is about.

    `basis` says how its rank is known: printed or derived. `named` says that somebody else's line
    names it: a launcher's report of how it ended, or a rank that waits for it.
    """

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    attempt: int | None = None
    basis: str | None = None
    place: str | None = None
    named: bool = False

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two subjects one: the rank, or else all that is known of the process."""
        if self.rank is not None:
            return (self.rank, self.attempt)
        return (self.local_rank, self.host, self.pid, self.attempt, self.place)


class Subjects:
    """Resolves lines and captures to subjects, with what the log tells of its ranks."""

    def __init__(self, log: Log, identities: Identities) -> None:
        self._log = log
        self._identities = identities
        blocks = [
            (line.key, captured)
            for line in log.lines_with(_BLOCK_RANK)
            if (captured := capture(_BLOCK_CAPTURES, log.around(line, line.hit)))
        ]
        self._block_keys = [key for key, _ in blocks]
        self._blocks = [captured for _, captured in blocks]
        self._quotes = {line.key for line in log.lines_with(_QUOTED_ERROR)}
        self._spawned = log.lines_with(_SPAWN_QUOTE)
        self._spawned_keys = [line.key for line in self._spawned]
        self._snippets = log.lines_with(_RAY_SNIPPET)
        self._snippet_keys = [line.key for line in self._snippets]
        self._shards = dict(_shard_quotes(log))
        self._shard_keys = sorted(self._shards)
        self._of_sources: dict[Source, Subject] = {}

    @property
    def on_several_hosts(self) -> bool:
        """Say whether the log places its ranks on more than one host."""
        return len({facts.host for facts in self._identities.ranks.values() if facts.host}) > 1

    @property
    def tasks_are_agents(self) -> bool:
        """Say whether what a launcher calls a task is the agent of a node, not a rank."""
        return self._identities.labels_are == "node"

    def of_line(self, line: Line) -> Subject:
        """Return who printed the line, or whom its printer quotes."""
        snippet = self._snippet_of(line)
        if snippet is not None:
            return self.of_captures(capture(_RAY_CAPTURES, snippet.facts.message), line)
        return self._of_source(self._of_shard(line))

    def _snippet_of(self, line: Line) -> Line | None:
        """Return the header of the worker's error that a Ray Train controller quotes here."""
        place = bisect_right(self._snippet_keys, line.key) - 1
        if place < 0:
            return None
        header = self._snippets[place]
        near = header.file == line.file and line.start - header.start <= _SNIPPET_BYTES
        return header if near and header.speaker == line.speaker else None

    def _of_shard(self, line: Line) -> Source:
        """Return who printed the line; of what a launcher of TGI quotes whole, the shard."""
        source = line.facts.source
        place = bisect_right(self._shard_keys, line.key) - 1
        if place < 0:
            return source
        file, start = self._shard_keys[place]
        rank, end = self._shards[file, start]
        inside = line.file == file and start < line.start < end
        return dataclasses.replace(source, rank=rank, role="worker") if inside else source

    def of_chain(self, chain: Chain) -> Subject:
        """Return whose exception a chain of tracebacks is."""
        return (
            self._in_block(chain.first)
            or self._spawned_by(chain)
            or self._gathered(chain)
            or self._quoted_by_ray(chain)
            or self.of_line(chain.first)
        )

    def _quoted_by_ray(self, chain: Chain) -> Subject | None:
        """Return the innermost task whose exception Ray raises again where its result is asked."""
        if _is_marked(chain.first):
            return None
        quoting = [line for line in chain.lines() if _RAY_TASK in line.facts.message]
        for line in reversed(quoting):
            captures = capture(_RAY_TASK_CAPTURES, line.facts.message)
            if captures:
                subject = self.of_captures(captures, line)
                return subject if self._is_of_rank(subject) else None
        return None

    def _is_of_rank(self, subject: Subject) -> bool:
        """Say whether the process itself is known as a rank: a driver's task runs beside one."""
        return subject.rank is not None and (
            self._identities.of_rank(subject.rank).pid == subject.pid
        )

    def _gathered(self, chain: Chain) -> Subject | None:
        """Return the rank whose exception all ranks print, once they have gathered it."""
        captures = capture(_GATHERED_CAPTURES, chain.first.facts.message)
        if not captures:
            return None
        return dataclasses.replace(self.of_captures(captures, chain.first), named=True)

    def _spawned_by(self, chain: Chain) -> Subject | None:
        """Return the child of torch.multiprocessing whose traceback its parent quotes."""
        first = chain.quoted_by or chain.first
        place = bisect_right(self._spawned_keys, first.key) - 1
        if place < 0:
            return None
        quote = self._spawned[place]
        between = self._log.texts[quote.file].data[quote.end : quote.end + _QUOTE_GAP]
        near = quote.file == first.file and first.start - quote.end <= len(between)
        if not near or between[: first.start - quote.end].strip():
            return None
        return self.of_captures(capture(_SPAWN_CAPTURES, quote.facts.message), quote)

    def of_observation(self, observation: Observation, chains: Sequence[Chain]) -> Subject:
        """Return whom an observation is about: what it captured, else who printed it."""
        printer = (
            self._printer(observation)
            if observation.chain is None
            else self.of_chain(chains[observation.chain])
        )
        named = _about(observation.captures)
        subject = self.of_captures(named, observation.line) if named else printer
        if subject.rank is None and printer.rank is not None:
            # A pid that is no rank's is a child of the rank that speaks of it: a loader worker.
            return printer
        if subject.rank is None and "host" in observation.captures:
            subject = dataclasses.replace(subject, host=observation.captures["host"])
        others = bool(named) and subject.rank != printer.rank
        return dataclasses.replace(subject, named=printer.named or others)

    def _printer(self, observation: Observation) -> Subject:
        """Return who printed what was observed.

        A progress bar has no line end: what another process says begins behind it, prefix and all.
        """
        line, end = observation.line, observation.hit
        if end < line.start + line.facts.message_offset and shows_bar(self._log.around(line, end)):
            return self._of_source(self._log.source_up_to(line, end))
        return self.of_line(line)

    def of_captures(self, captures: Mapping[str, str], line: Line) -> Subject:
        """Return the process that the named groups rank, local_rank, pid, host, task tell of."""
        printer = self._of_source(line.facts.source)
        rank = _number(captures.get("rank"))
        pid = _number(captures.get("pid"))
        local_rank = _number(captures.get("local_rank"))
        host = captures.get("host") or printer.host
        block = self._block_of(line) if rank is None else None
        if block is not None:
            rank, local_rank = int(block["rank"]), int(block["local_rank"])
        subject = Subject(None, local_rank, host, pid, printer.attempt, None, printer.place)
        if rank is not None:
            return self._completed(subject, rank, "printed")
        asked = dataclasses.replace(
            line.facts.source,
            pid=pid,
            local_rank=local_rank,
            host=host,
            label=captures.get("task", line.facts.source.label),
        )
        known = self._identities.rank_of(asked)
        if known is None:
            known = self._rank_of_spawned(line, local_rank)
        return subject if known is None else self._completed(subject, known, "derived")

    def _rank_of_spawned(self, line: Line, index: int | None) -> int | None:
        """Return the rank of a child of torch.multiprocessing.

        It is its index, as long as no other node and no larger world is told of.
        """
        told_otherwise = self._identities.world is not None or line.facts.source.host is not None
        if told_otherwise or capture(_SPAWN_INDEX, line.facts.message) == {}:
            return None
        return index

    def is_report(self, line: Line) -> bool:
        """Say whether a launcher repeats here what another process said."""
        return (
            line.key in self._quotes
            or _BLOCK_TRACEBACK in line.facts.message
            or line.facts.message.rstrip().endswith(_RAY_REPEATED)
            or self._snippet_of(line) is not None
        )

    def _in_block(self, header: Line) -> Subject | None:
        """Return the rank in whose block of a torchelastic summary a traceback stands."""
        block = self._block_of(header)
        return None if block is None else self.of_captures(block, header)

    def _block_of(self, line: Line) -> Mapping[str, str] | None:
        """Return the rank and local rank of the torchelastic block that a line is a field of."""
        if not line.facts.message.lstrip().startswith(_BLOCK_FIELDS):
            return None
        place = bisect_right(self._block_keys, line.key) - 1
        if place < 0 or self._block_keys[place][0] != line.file:
            return None
        return self._blocks[place]

    def _of_source(self, source: Source) -> Subject:
        known = self._of_sources.get(source)
        if known is None:
            known = self._of_sources[source] = self._read_source(source)
        return known

    def _read_source(self, source: Source) -> Subject:
        subject = Subject(
            rank=source.rank,
            local_rank=source.local_rank,
            host=source.host or source.pod,
            pid=source.pid,
            attempt=source.attempt,
            place=source.container or source.label,
        )
        if source.rank is not None:
            return self._completed(subject, source.rank, "printed")
        if source.role in NO_WORKERS:
            return subject
        known = self._identities.rank_of(source)
        return subject if known is None else self._completed(subject, known, "derived")

    def _completed(self, subject: Subject, rank: int, basis: str) -> Subject:
        """Return the subject with its rank, and with what the log tells of that rank elsewhere."""
        known = self._identities.of_rank(rank)
        return dataclasses.replace(
            subject,
            rank=rank,
            local_rank=known.local_rank if subject.local_rank is None else subject.local_rank,
            host=known.host or subject.host or known.pod,
            pid=known.pid if subject.pid is None else subject.pid,
            basis=basis,
            place=None,
        )


def _is_marked(line: Line) -> bool:
    """Say whether a line says of which rank or process it is."""
    source = line.facts.source
    return source.rank is not None or source.pid is not None


def _shard_quotes(log: Log) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the key of each line that begins a shard's output, with its rank and where it ends."""
    quotes = log.lines_with(_SHARD_QUOTE)
    begun = {line.key for line in quotes}
    for quote in quotes:
        line = log.line_after(quote)
        for _ in range(_SHARD_LINES):
            if line is None or line.key in begun:
                break
            fields = _SHARD_FIELDS.fullmatch(line.facts.message.strip())
            if fields is not None:
                yield quote.key, (int(fields["rank"]), line.end)
                break
            line = log.line_after(line)


def _about(captures: Mapping[str, str]) -> dict[str, str]:
    """Return the captures that name a process other than by its printer."""
    named = {name: value for name, value in captures.items() if name in _NAMING}
    missing = captures.get("missing", "")
    if missing.isdigit():
        named["rank"] = missing
    return named


_NAMING = frozenset({"rank", "local_rank", "pid", "task"})


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
