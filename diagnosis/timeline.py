"""The timeline of a verdict: one lane for each rank, or for each group of ranks of equal fate.

Plain data for `templates/diagnosis/_timeline.html`, which draws it. Places along the axis are
percentages, so that one drawing fits every screen; heights are pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.number_runs import ranks_in_words
from diagnosis.rank_groups import RankGroup
from diagnosis.timeline_axis import Axis, Clock, Moment, Place, measure

__all__ = ["KINDS", "LETTERS", "Event", "Lane", "Mark", "Timeline", "draw", "ranks_singled_out"]

# What an event is to the run, in the words of the page.
KINDS: Mapping[str, str] = {
    "initiating": "failed first",
    "sign": "first sign",
    "cause": "cause",
    "symptom": "symptom",
    "consequence": "consequence",
    "summary": "launcher's report",
    "recovered": "recovered from",
    "stopped": "stopped by a person",
}
# A fate is told by its letter as well as by its colour.
LETTERS: Mapping[str, str] = {
    "initiated": "1",
    "aborted_by_peer": "A",
    "torn_down": "S",
    "stalled_waiting": "W",
    "finished": "F",
    "not_in_this_log": "N",
}
# What ranks are hurt by.
_HURTS = frozenset(("initiating", "sign", "cause", "symptom", "consequence"))
# The fates that follow from the first failure.
_FOLLOW = frozenset(("aborted_by_peer", "torn_down", "stalled_waiting"))

_TOP, _LANE_HEIGHT = 44, 40
_LABEL_CHARACTERS = 14
# Marks nearer than this, in percent, are one link: on a phone that is a thumb's width.
_APART = 12.0
# What a single line looks like.
_SMALLEST_BAR = 0.6
_MIDDLE = 50


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a line; `ranks` are those it may have happened to."""

    file: str
    line: int
    kind: str
    ranks: tuple[int, ...] = ()
    failure: str = ""

    @property
    def place(self) -> Place:
        """Where the log tells of it."""
        return self.file, self.line


@dataclass(frozen=True, slots=True)
class Mark:
    """Events of a lane that stand close together: one link, to the gravest of them.

    `places` are those of all of them in percent, that of the gravest first.
    """

    events: tuple[Event, ...]
    places: tuple[float, ...]

    @property
    def event(self) -> Event:
        """The event that the mark leads to."""
        return self.events[0]


@dataclass(frozen=True, slots=True)
class Bar:
    """The lines of a lane: from `start` on for `whole`, then, hurt, from `hurt` on for `broken`.

    `begins_earlier` says that the lane starts before the axis does.
    """

    start: float
    whole: float
    hurt: float
    broken: float
    begins_earlier: bool


@dataclass(frozen=True, slots=True)
class Number:
    """The last collective that the ranks of a lane entered, under the end of their bar.

    `at` is a percentage; `side` is that of the text at which it lies.
    """

    words: str
    at: float
    side: str  # start | end


@dataclass(frozen=True, slots=True)
class Lane:
    """What one group of ranks did. `group` is None for what names no rank of the log."""

    group: RankGroup | None
    label: str
    host: str
    y: int
    bar: Bar | None
    number: Number | None
    marks: tuple[Mark, ...]

    @property
    def fate(self) -> str:
        """The fate of its ranks; "" where it names none."""
        return self.group.fate if self.group else ""

    @property
    def letter(self) -> str:
        """The letter of that fate."""
        return LETTERS.get(self.fate, "")

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened in it, in order."""
        return tuple(event for mark in self.marks for event in mark.events)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The whole drawing; `hosts` are those of its lanes, each once."""

    axis: Axis
    lanes: tuple[Lane, ...]
    hosts: tuple[str, ...]

    @property
    def height(self) -> int:
        """How high the drawing is."""
        return _TOP + _LANE_HEIGHT * len(self.lanes)

    @property
    def ranks(self) -> int:
        """How many ranks it shows."""
        return sum(len(lane.group.ranks) for lane in self.lanes if lane.group)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of events in it, each once."""
        found = {event.kind for lane in self.lanes for event in lane.events}
        return tuple(kind for kind in KINDS if kind in found)

    @property
    def has_crowds(self) -> bool:
        """Whether one of its marks stands for several events, at places of their own."""
        return any(len(set(mark.places)) > 1 for lane in self.lanes for mark in lane.marks)

    @property
    def has_broken_bars(self) -> bool:
        """Whether a part of one of its bars is hatched."""
        return any(lane.bar.broken for lane in self.lanes if lane.bar)

    @property
    def has_numbers(self) -> bool:
        """Whether the last collective of one of its lanes is told."""
        return any(lane.number for lane in self.lanes)

    @property
    def fates(self) -> tuple[str, ...]:
        """The fates in it, each once."""
        found = {lane.fate for lane in self.lanes}
        return tuple(fate for fate in LETTERS if fate in found)


_Row = tuple[RankGroup | None, Sequence[Event]]


def draw(
    verdict: Mapping[str, Any],
    groups: Sequence[RankGroup],
    lines_of: Mapping[str, int],
    moment_at: Callable[[str, int], Moment | None],
    *,
    by_lines: bool = False,
) -> Timeline | None:
    """Lay out the timeline of a verdict; None where there is nothing to see on one.

    `lines_of` has the number of lines of each file; `moment_at` tells when a line was printed. The
    axis is time where that is told, unless it is asked for `by_lines`.
    """
    events = [event for event in _events(verdict) if event.file in lines_of]
    rows = _rows(groups, events)
    if not groups or (len(rows) < 2 and len(events) < 2):
        return None
    skews = verdict["coverage"]["clock_skew"] or {}
    has_root = bool(verdict["primary"] and verdict["primary"]["evidence"])
    axis = measure(
        [_places(row, lines_of) for row in rows],
        [event.place for event in events] if has_root else [],
        Clock(moment_at, skews, _hosts(verdict, events)),
        lines_of,
        by_lines=by_lines,
    )
    hosts = tuple(dict.fromkeys(host for group in groups for host in group.hosts))
    lanes = tuple(_lane(row, axis, _TOP + n * _LANE_HEIGHT) for n, row in enumerate(rows))
    return Timeline(axis, lanes, hosts)


def ranks_singled_out(verdict: Mapping[str, Any]) -> frozenset[int]:
    """Return the ranks to which something happened that happened to no other."""
    return frozenset(event.ranks[0] for event in _events(verdict) if len(event.ranks) == 1)


def _events(verdict: Mapping[str, Any]) -> Iterator[Event]:
    """Yield what happened, the gravest first, each line once."""
    told: set[Place] = set()
    for event in (*_evidence(verdict), *_consequences(verdict), *_recovered(verdict)):
        if event.place not in told:
            told.add(event.place)
            yield event


def _evidence(verdict: Mapping[str, Any]) -> Iterator[Event]:
    primary = verdict["primary"] or {}
    first = {"symptom_only": "sign", "no_failure": "stopped"}.get(verdict["outcome"], "initiating")
    slug = (primary.get("failure") or {}).get("slug", "")
    evidence = primary.get("evidence", ())
    failures = {(c["file"], c["first_line"]): c["failure"] for c in verdict["consequences"]}
    for order, each in enumerate(evidence):
        if order:
            if _tells_who(each, evidence[0], primary["rank"]):
                continue
            failure = failures.get((each["file"], each["line"]), "")
            ranks = _as_ranks(each["rank"])
            yield Event(each["file"], each["line"], each["role"], ranks, failure)
            continue
        # Where the log does not tell who was first, its first line of evidence does not, either.
        kind = first if primary["rank"] is not None or each["rank"] is None else each["role"]
        rank = primary["rank"] if each["rank"] is None else each["rank"]
        yield Event(each["file"], each["line"], kind, _as_ranks(rank), slug)


def _tells_who(proof: Mapping[str, Any], first: Mapping[str, Any], rank: int | None) -> bool:
    """Say whether a report only says which process is the rank: it stands above the failure."""
    before: bool = proof["file"] == first["file"] and proof["line"] < first["line"]
    return before and proof["role"] == "summary" and proof["rank"] == rank


def _consequences(verdict: Mapping[str, Any]) -> Iterator[Event]:
    for each in verdict["consequences"]:
        ranks = tuple(each["ranks"])
        yield Event(each["file"], each["first_line"], "consequence", ranks, each["failure"])


def _recovered(verdict: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the faults that the run survived; with several files, nothing tells in which."""
    files = {each["file"] for each in verdict["ranks"] if each["file"]}
    if len(files) != 1:
        return
    (file,) = files
    for each in verdict["recovered"]:
        ranks = tuple(each["ranks"])
        yield Event(file, each["first_line"], "recovered", ranks, each["failure"])


def _as_ranks(rank: int | None) -> tuple[int, ...]:
    return () if rank is None else (rank,)


def _rows(groups: Sequence[RankGroup], events: Sequence[Event]) -> list[_Row]:
    """Give each event to the group that holds most of its ranks; the rest names none."""
    sets = [frozenset(group.ranks) for group in groups]
    found: list[list[Event]] = [[] for _group in groups]
    unnamed: list[Event] = []
    for event in events:
        shares = [len(ranks.intersection(event.ranks)) for ranks in sets]
        best = max(shares, default=0)
        (found[shares.index(best)] if best else unnamed).append(event)
    rows: list[_Row] = list(zip(groups, found, strict=True))
    if unnamed:
        # What failed first stays on top, also where no rank is known.
        rows.insert(0 if unnamed[0] is events[0] else len(rows), (None, unnamed))
    return rows


def _places(row: _Row, lines_of: Mapping[str, int]) -> set[Place]:
    """Return the places of a lane: its events, and where its ranks speak first and last."""
    group, events = row
    places = {event.place for event in events}
    for span in group.outer_spans if group else ():
        if span.file in lines_of:
            places.update((span.first, span.last))
    return places


def _hosts(verdict: Mapping[str, Any], events: Sequence[Event]) -> dict[Place, str]:
    """Return the hosts that printed lines, as far as the verdict tells."""
    of_rank = {each["rank"]: each["host"] for each in verdict["ranks"] if each["host"]}
    hosts = {
        event.place: of_rank[event.ranks[0]]
        for event in events
        if len(event.ranks) == 1 and event.ranks[0] in of_rank
    }
    for each in verdict["ranks"]:
        if each["file"] and each["host"]:
            hosts[each["file"], each["first_line"]] = each["host"]
            hosts[each["file"], each["last_line"]] = each["host"]
    return hosts


def _lane(row: _Row, axis: Axis, y: int) -> Lane:
    group, events = row
    bar = _bar(group, events, axis) if group else None
    return Lane(
        group=group,
        label=_label(group.ranks) if group else _label_of_unnamed(events),
        host=_host(group.hosts) if group else "",
        y=y,
        bar=bar,
        number=_number(group, bar) if group and bar else None,
        marks=tuple(_marks(events, axis)),
    )


def _bar(group: RankGroup, events: Sequence[Event], axis: Axis) -> Bar | None:
    starts = [at for span in group.outer_spans if (at := axis.at(span.first)) is not None]
    ends = [at for span in group.outer_spans if (at := axis.at(span.last)) is not None]
    if not starts or not ends:
        return None
    start, end = min(starts), max(ends)
    hurts = [axis.at(event.place) for event in events if event.kind in _HURTS]
    if group.fate in _FOLLOW and axis.is_common:
        # What these ranks printed after the root failed is part of what followed.
        hurts.append(axis.zero)
    hurt = min(max(min((at for at in hurts if at is not None), default=end), start), end)
    return Bar(
        start=start,
        whole=round(hurt - start, 2) if start < end else _SMALLEST_BAR,
        hurt=hurt,
        broken=round(end - hurt, 2),
        begins_earlier=any(axis.is_before(span.first) for span in group.outer_spans),
    )


def _number(group: RankGroup, bar: Bar) -> Number | None:
    if not group.last_collective:
        return None
    end = round(bar.hurt + bar.broken, 2) if bar.broken else round(bar.start + bar.whole, 2)
    side = "end" if end > _MIDDLE else "start"
    return Number(f"#{group.last_collective}", end, side)


def _marks(events: Sequence[Event], axis: Axis) -> Iterator[Mark]:
    """Yield the marks of a lane from left to right; those that would overlap are one."""
    places = {event: at for event in events if (at := axis.at(event.place)) is not None}
    close: list[Event] = []
    for event in sorted(places, key=lambda event: places[event]):
        if close and places[event] - places[close[0]] >= _APART:
            yield _mark(close, places)
            close = []
        close.append(event)
    if close:
        yield _mark(close, places)


def _mark(close: Sequence[Event], places: Mapping[Event, float]) -> Mark:
    # Events come in the order of their weight.
    ordered = [event for event in places if event in close]
    return Mark(tuple(ordered), tuple(places[event] for event in ordered))


def _label(ranks: Sequence[int]) -> str:
    words = ranks_in_words(ranks, most_runs=2) or "no rank named"
    return words if len(words) <= _LABEL_CHARACTERS else f"{len(ranks)} ranks"


def _label_of_unnamed(events: Sequence[Event]) -> str:
    if all(event.kind == "summary" for event in events):
        return "launcher"
    ranks = events[0].ranks
    # A rank that the log names and that its world has no room for.
    return f"rank {ranks[0]}" if len(ranks) == 1 else _label(ranks)


def _host(hosts: Sequence[str]) -> str:
    if len(hosts) != 1:
        return f"{len(hosts)} hosts" if hosts else ""
    # Names of hosts differ in the end of their first part.
    name = hosts[0].partition(".")[0] or hosts[0]
    return name if len(name) <= _LABEL_CHARACTERS else f"…{name[1 - _LABEL_CHARACTERS :]}"
