"""What became of each rank: who was there, when it spoke first and last, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from signal import SIGTERM

from diagnosis.engine.causality import Judgement
from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.events import Event
from diagnosis.engine.identities import Identities
from diagnosis.engine.log import Line, Log
from diagnosis.engine.verdict import RankFate

__all__ = ["Presence", "Roster", "fates", "read_roster", "words_of_fate"]

# How a rank's own lines begin or mark themselves, with `%d` for the rank.
_MARKS = (b"[rank%d]", b"[rank %d]", b"[Rank %d]", b"rank%d:", b"rank=%d ", b"[RANK%d]")
_MOST_RANKS = 4096
_SAMPLE_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Presence:
    """Where a rank's own lines begin and end, in one file."""

    rank: int
    first: Line
    last: Line


@dataclass(frozen=True, slots=True)
class Roster:
    """The ranks of the run: `world_size` as announced, `present` those that the log shows."""

    world_size: int | None
    present: Mapping[int, Presence | None]

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return every rank that must have existed, ascending."""
        announced = range(self.world_size) if self.world_size else ()
        return tuple(sorted({*self.present, *announced}))


def read_roster(log: Log, identities: Identities, events: Sequence[Event]) -> Roster:
    """Find out which ranks there were, from announcements, marks and events."""
    world = identities.world_size
    if world is not None and world > _MOST_RANKS:
        world = None
    named = {*identities.announced, *(event.subject.rank for event in events)}
    marks = dict(_marks(log))
    sampled = {rank for ranks in marks.values() for rank in ranks}
    present: dict[int, Presence | None] = {rank: None for rank in named if rank is not None}
    for rank in {*sampled, *present, *range(world or 0)}:
        presence = _presence(log, rank, [mark for mark, ranks in marks.items() if ranks])
        if presence is not None:
            present[rank] = presence
    bound = world if world is not None else _MOST_RANKS
    return Roster(world, {rank: found for rank, found in sorted(present.items()) if rank < bound})


def _marks(log: Log) -> Iterator[tuple[bytes, set[int]]]:
    """Yield each mark with the ranks that bear it at either end of a text.

    Searching a large text in vain is dear, so a mark that no end shows is not looked for.
    """
    for mark in _MARKS:
        pattern = re.compile(re.escape(mark).replace(b"%d", rb"(\d{1,6})"))
        yield (
            mark,
            {
                int(rank)
                for text in log.texts
                for sample in (text.data[:_SAMPLE_BYTES], text.data[-_SAMPLE_BYTES:])
                for rank in pattern.findall(sample)
            },
        )


def _presence(log: Log, rank: int, marks: Iterable[bytes]) -> Presence | None:
    """Find the first and last line with one of the rank's marks, by search and not by visiting."""
    first: Line | None = None
    last: Line | None = None
    for mark in marks:
        literal = mark % rank
        for number, text in enumerate(log.texts):
            start = text.data.find(literal)
            if start < 0:
                continue
            early, late = log.line_at(number, start), log.line_at(number, text.data.rfind(literal))
            first = early if first is None or early.key < first.key else first
            last = late if last is None or late.key > last.key else last
    return None if first is None or last is None else Presence(rank, first, last)


def fates(
    log: Log, roster: Roster, identities: Identities, words: Mapping[int, str]
) -> tuple[RankFate, ...]:
    """Return the fate of every rank of the roster, ascending; `words` has the word for each."""
    return tuple(_fate(log, roster, identities, rank, words[rank]) for rank in roster.ranks)


def words_of_fate(
    roster: Roster,
    judgement: Judgement,
    ends: Sequence[ProcessEnd],
    initiating_rank: int | None,
) -> dict[int, str]:
    """Return the strongest thing that is known of each rank: what is said last wins."""
    told = {end.subject.rank for end in ends if end.told or end.forced or end.signal == SIGTERM}
    unhurt = "finished" if judgement.root is None else "torn_down"
    words = {rank: unhurt if rank in roster.present else "not_in_this_log" for rank in roster.ranks}
    for fate, ranks in (
        ("torn_down", told),
        ("aborted_by_peer", _failed_otherwise(judgement)),
        ("aborted_by_peer", set(_ranks_with_role(judgement, "consequence"))),
        ("stalled_waiting", set(_ranks_with_role(judgement, "symptom"))),
    ):
        words.update((rank, fate) for rank in ranks if rank in words)
    if initiating_rank in words:
        words[initiating_rank] = "initiated"
    return words


def _ranks_with_role(judgement: Judgement, role: str) -> Iterator[int]:
    events = [each.event for each in judgement.explained]
    if judgement.root is not None:
        events.extend((judgement.root, *judgement.peers))
    for event in events:
        if event.role == role and event.subject.rank is not None:
            yield event.subject.rank


def _failed_otherwise(judgement: Judgement) -> set[int]:
    """Return the ranks with a failure of their own that is not the root."""
    events = (*judgement.peers, *judgement.rivals, *(each.event for each in judgement.explained))
    return {
        event.subject.rank
        for event in events
        if event.role in ("cause", "crash", "exit") and event.subject.rank is not None
    }


def _fate(log: Log, roster: Roster, identities: Identities, rank: int, word: str) -> RankFate:
    presence = roster.present.get(rank)
    known = identities.of_rank(rank)
    return RankFate(
        rank=rank,
        local_rank=known.local_rank,
        host=known.host or (presence.first.facts.source.host if presence else None),
        file=log.name(presence.first) if presence else None,
        fate=word,
        first_line=log.number(presence.first) if presence else None,
        last_line=log.number(presence.last) if presence else None,
        first_time=presence.first.facts.time_text if presence else None,
        last_time=presence.last.facts.time_text if presence else None,
    )
