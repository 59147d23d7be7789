"""What became of each rank: who was there, when it spoke first and last, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import attrgetter
from signal import SIGTERM

from diagnosis.engine.causality import Judgement, ranks_of
from diagnosis.engine.endings import ProcessEnd
from diagnosis.engine.events import Event
from diagnosis.engine.identities import Identities
from diagnosis.engine.log import Line, Log
from diagnosis.engine.verdict import RankFate

__all__ = ["Presence", "Roster", "fates", "read_roster", "words_of_fate"]

# How a rank's own lines begin or mark themselves, with `%d` for the rank.
_MARKS = (b"[rank%d]", b"[rank %d]", b"[Rank %d]", b"rank%d:", b"rank=%d ", b"[RANK%d]")
# Settings are printed alike: `lora rank=64 alpha=16` is no rank of the run.
_LOOSE_MARKS = (b"rank=%d ",)
_MOST_RANKS = 4096
_SAMPLE_BYTES = 1 << 18
_LONGEST_MARK = 16
_KEY = attrgetter("key")


@dataclass(frozen=True, slots=True)
class Presence:
    """Where a rank's own lines begin and end, in one file."""

    rank: int
    first: Line
    last: Line


@dataclass(frozen=True, slots=True)
class Roster:
    """The ranks of the run: `world_size` as announced, `present` those that the log shows.

    `highest` is the highest rank that surely is one; -1 where there is none.
    """

    world_size: int | None
    present: Mapping[int, Presence | None]
    highest: int = -1

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return every rank that is announced or shown, ascending: those to judge by."""
        announced = range(self.world_size) if self.world_size else ()
        return tuple(sorted({*self.present, *announced}))

    @property
    def with_gaps(self) -> tuple[int, ...]:
        """Return every rank that must have existed, ascending: ranks count from 0 without gaps."""
        return tuple(sorted({*self.ranks, *range(self.highest + 1)}))


def read_roster(log: Log, identities: Identities, events: Sequence[Event]) -> Roster:
    """Find out which ranks there were, from announcements, marks and events."""
    world = identities.world_size
    if world is not None and world > _MOST_RANKS:
        world = None
    bound = _MOST_RANKS if world is None else world
    named = {*identities.announced, *(event.subject.rank for event in events)}
    present: dict[int, Presence | None] = {rank: None for rank in named if rank is not None}
    expected = {rank for rank in {*present, *range(world or 0)} if rank < bound}
    sure = {rank for rank in present if rank < bound}
    for mark in _MARKS:
        for number, text in enumerate(log.texts):
            for rank, (start, last) in _spans_of_ranks(text.data, mark, expected, bound).items():
                found = Presence(rank, log.line_at(number, start), log.line_at(number, last))
                present[rank] = _joined(present.get(rank), found)
                if mark not in _LOOSE_MARKS:
                    sure.add(rank)
    shown = {rank: found for rank, found in sorted(present.items()) if rank < bound}
    return Roster(world, shown, max(sure, default=-1))


def _joined(one: Presence | None, other: Presence) -> Presence:
    """Return where a rank speaks first and last of all that is known."""
    if one is None:
        return other
    return Presence(
        one.rank,
        min(one.first, other.first, key=_KEY),
        max(one.last, other.last, key=_KEY),
    )


def _spans_of_ranks(
    data: bytes, mark: bytes, expected: AbstractSet[int], bound: int
) -> Mapping[int, tuple[int, int]]:
    """Return for each rank below `bound` where its mark stands first and last.

    Searching a large text in vain is dear, so a mark that no end shows is not looked for; nor is
    anything between the ends where both show all ranks that are seen or `expected`.
    """
    pattern = re.compile(re.escape(mark).replace(b"%d", rb"(\d{1,6})"))
    behind = max(_SAMPLE_BYTES, len(data) - _SAMPLE_BYTES)
    early = _places_of_ranks(pattern, data, 0, _SAMPLE_BYTES, bound)
    late = _places_of_ranks(pattern, data, behind, len(data), bound)
    between: Mapping[int, tuple[int, int]] = {}
    shown = {*early, *late}
    if shown and shown | expected != early.keys() & late.keys():
        begin, end = max(0, _SAMPLE_BYTES - _LONGEST_MARK), behind + _LONGEST_MARK
        between = _places_of_ranks(pattern, data, begin, end, bound)
    spans: dict[int, tuple[int, int]] = {}
    for places in (early, between, late):
        for rank, (start, last) in places.items():
            spans[rank] = (spans.get(rank, (start, last))[0], last)
    return spans


def _places_of_ranks(
    pattern: re.Pattern[bytes], data: bytes, start: int, end: int, bound: int
) -> dict[int, tuple[int, int]]:
    """Return where in a stretch each rank's mark begins first and last."""
    places: dict[int, tuple[int, int]] = {}
    for found in pattern.finditer(data, start, end):
        rank, place = int(found[1]), found.start()
        if rank < bound:
            places[rank] = (places.get(rank, (place, place))[0], place)
    return places


def fates(
    log: Log,
    roster: Roster,
    identities: Identities,
    words: Mapping[int, str],
    collectives: Mapping[int, int],
) -> tuple[RankFate, ...]:
    """Return the fate of every rank of the roster, ascending.

    `words` has the word for each, `collectives` the last one entered of those that tell it.
    """
    return tuple(
        replace(
            _fate(log, roster, identities, rank, words[rank]),
            last_collective=collectives.get(rank),
        )
        for rank in roster.with_gaps
    )


def words_of_fate(
    roster: Roster,
    judgement: Judgement,
    ends: Sequence[ProcessEnd],
    initiating_rank: int | None,
) -> dict[int, str]:
    """Return the strongest thing that is known of each rank: what is said last wins."""
    told = {end.subject.rank for end in ends if end.told or end.forced or end.signal == SIGTERM}
    ended_well = judgement.root is None and judgement.interrupted is None
    unhurt = "finished" if ended_well else "torn_down"
    words = {
        rank: unhurt if rank in roster.present else "not_in_this_log" for rank in roster.with_gaps
    }
    for fate, ranks in (
        ("torn_down", told),
        ("aborted_by_peer", _failed_otherwise(judgement)),
        ("aborted_by_peer", set(_ranks_with_role(judgement, "consequence"))),
        ("stalled_waiting", set(_ranks_with_role(judgement, "symptom"))),
    ):
        words.update((rank, fate) for rank in ranks if rank in words)
    first = _failed_alike(judgement) if initiating_rank is None else [initiating_rank]
    words.update((rank, "initiated") for rank in first if rank in words)
    return words


def _failed_alike(judgement: Judgement) -> Sequence[int]:
    """Return the ranks that failed of themselves and alike, none of them known to be the first."""
    own = [event for event in judgement.reports if event.role in ("cause", "crash")]
    return ranks_of(own)


def _ranks_with_role(judgement: Judgement, role: str) -> Iterator[int]:
    explained = (each.event for each in judgement.explained)
    for event in (*explained, *judgement.reports, *judgement.rivals):
        if event.role == role and event.subject.rank is not None:
            yield event.subject.rank


def _failed_otherwise(judgement: Judgement) -> set[int]:
    """Return the ranks with a failure of their own that is not the root.

    Where a person stopped the run, what ranks say after that is the run being ended.
    """
    if judgement.interrupted is not None:
        return set()
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
