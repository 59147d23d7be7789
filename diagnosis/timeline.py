"""The timeline of a verdict: one lane for each rank, or for each group of ranks of equal fate.

Plain data for `templates/diagnosis/_timeline.html`, which draws it. Places along the axis are
percentages, so that one drawing fits every screen; heights are pixels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from diagnosis.number_runs import ranks_in_words
from diagnosis.rank_groups import RankGroup

__all__ = [
    "AXES",
    "KINDS",
    "LETTERS",
    "Axis",
    "Event",
    "Lane",
    "Mark",
    "Moment",
    "Timeline",
    "draw",
    "duration_in_words",
]

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
# What the axis measures. Why it is not time is said with it.
AXES: Mapping[str, str] = {
    "time": "Time runs to the right, as the stamps of the log tell it.",
    "chosen": "Lines run to the right, not time.",
    "no_stamps": "Lines run to the right, not time: not every line here has a stamp near it.",
    "clocks": "Lines run to the right, not time: the stamps are of clocks that do not compare.",
    "backwards": "Lines run to the right, not time: the stamps do not follow the order of lines.",
    "files": (
        "Each lane runs over the lines of its own file, not over time: nothing compares the"
        " places of two files."
    ),
}
# Ranks that are hurt from these on.
_HURTS = frozenset(("initiating", "sign", "cause", "symptom", "consequence"))
# The fates that follow from the first failure.
_FOLLOW = frozenset(("aborted_by_peer", "torn_down", "stalled_waiting"))

_TOP, _LANE_HEIGHT = 44, 40
_LABEL_CHARACTERS = 14
# Marks nearer than this, in percent, are one link: on a phone that is a thumb's width.
_APART = 12.0
# Where what happened takes up less of the axis, what came long before is left out.
_SHARE_OF_EVENTS = 0.25
# Clocks within a file that step back by more than this are not one clock.
_BACKWARDS_SECONDS = 5.0
_NEAR_AN_END = 25.0
# What a single line looks like.
_SMALLEST_BAR = 0.6
_DATED = frozenset(("date", "date_without_year"))
# Lengths of time: how many seconds make one, its sign, and what the rest is told in.
_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a line was printed: seconds on a clock of `stamps.CLOCKS`, and by which host."""

    seconds: float
    clock: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a line; `ranks` are those it may have happened to."""

    file: str
    line: int
    kind: str
    ranks: tuple[int, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """Events of a lane that stand close together: one link, to the first and gravest of them."""

    x: float
    kind: str
    events: tuple[Event, ...]
    places: tuple[float, ...]

    @property
    def event(self) -> Event:
        """The event that the mark leads to."""
        return self.events[0]


@dataclass(frozen=True, slots=True)
class Lane:
    """What one group of ranks did: it spoke from `start` to `end`, and was hurt from `hurt` on.

    All three are None where it has no line of its own. `group` is None for what names no rank of
    the log. `begins_earlier` says that the lane starts before the axis does.
    """

    group: RankGroup | None
    label: str
    host: str
    y: int
    start: float | None = None
    end: float | None = None
    hurt: float | None = None
    begins_earlier: bool = False
    marks: tuple[Mark, ...] = ()

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

    @property
    def whole(self) -> float:
        """How far the ranks spoke unhurt, from `start` on."""
        if self.start is None or self.end is None:
            return 0.0
        if self.start == self.end:
            return _SMALLEST_BAR
        return round((self.end if self.hurt is None else self.hurt) - self.start, 2)

    @property
    def broken(self) -> float:
        """How far they spoke after that, from `hurt` on."""
        return 0.0 if self.hurt is None or self.end is None else round(self.end - self.hurt, 2)


@dataclass(frozen=True, slots=True)
class Axis:
    """What the axis measures (one of AXES), its two ends in words, and where the root stands.

    `has_time` says whether it could measure time.
    """

    kind: str
    has_time: bool
    left: str
    right: str
    zero: float | None
    zero_event: Event | None

    @property
    def words(self) -> str:
        """What is measured, in a sentence."""
        return AXES[self.kind]

    @property
    def side(self) -> str:
        """To which side of the root its label stands, so that it stays within the drawing."""
        at = self.zero or 0.0
        return "start" if at < _NEAR_AN_END else "end" if at > 100 - _NEAR_AN_END else "middle"


@dataclass(frozen=True, slots=True)
class Timeline:
    """The whole drawing."""

    axis: Axis
    lanes: tuple[Lane, ...]

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
    def fates(self) -> tuple[str, ...]:
        """The fates in it, each once."""
        found = {lane.fate for lane in self.lanes}
        return tuple(fate for fate in LETTERS if fate in found)


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
    events = tuple(_events(verdict))
    rows = _assign(groups, events)
    if len(rows) < 2 and len(events) < 2:
        return None
    spans = [span for group in groups for span in group.spans]
    places = {(each.file, each.line) for each in events}
    places.update((span.file, line) for span in spans for line in (span.first_line, span.last_line))
    known = {place for place in places if place[0] in lines_of}
    zero = events[0] if (verdict["primary"] or {}).get("evidence") else None
    clock = _Clock(moment_at, verdict["coverage"]["clock_skew"] or {}, _hosts(verdict, events))
    kind, positions = _measure(known, rows, zero, clock)
    has_time = kind == "time"
    if not has_time or by_lines:
        kind, positions = _lines(kind, known, lines_of)
    low, high = _shown(kind, positions, events)
    scale = _Scale(positions, low, high, is_common=kind != "files")
    lanes = tuple(
        _lane(group, found, scale, zero, _TOP + place * _LANE_HEIGHT)
        for place, (group, found) in enumerate(rows)
    )
    return Timeline(_axis(kind, scale, zero, has_time=has_time), lanes)


def _events(verdict: Mapping[str, Any]) -> Iterator[Event]:
    """Yield what happened, the initiating event first, each line once."""
    told: set[Place] = set()
    primary = verdict["primary"] or {}
    first = {"symptom_only": "sign", "no_failure": "stopped"}.get(verdict["outcome"], "initiating")
    slug = (primary.get("failure") or {}).get("slug", "")
    for place, each in enumerate(primary.get("evidence", ())):
        # Where the log does not tell who was first, the first line of evidence does not, either.
        told_first = primary["rank"] is not None or each["rank"] is None
        kind = first if place == 0 and told_first else each["role"]
        rank = primary["rank"] if place == 0 and each["rank"] is None else each["rank"]
        told.add((each["file"], each["line"]))
        yield Event(
            each["file"],
            each["line"],
            kind,
            () if rank is None else (rank,),
            slug if place == 0 else "",
        )
    for each in verdict["consequences"]:
        if (each["file"], each["first_line"]) not in told:
            told.add((each["file"], each["first_line"]))
            ranks = tuple(each["ranks"])
            yield Event(each["file"], each["first_line"], "consequence", ranks, each["failure"])
    files = {each["file"] for each in verdict["ranks"] if each["file"]}
    if len(files) == 1:
        (file,) = files
        for each in verdict["recovered"]:
            ranks = tuple(each["ranks"])
            yield Event(file, each["first_line"], "recovered", ranks, each["failure"])


def _assign(
    groups: Sequence[RankGroup], events: Sequence[Event]
) -> list[tuple[RankGroup | None, list[Event]]]:
    """Give each event to the group that holds most of its ranks; the rest names none."""
    sets = [frozenset(group.ranks) for group in groups]
    rows: list[tuple[RankGroup | None, list[Event]]] = [(group, []) for group in groups]
    unnamed: list[Event] = []
    for event in events:
        shares = [len(ranks.intersection(event.ranks)) for ranks in sets]
        best = max(shares, default=0)
        (rows[shares.index(best)][1] if best else unnamed).append(event)
    if unnamed:
        # What failed first stays on top, also where no rank is known.
        rows.insert(0 if unnamed[0] is events[0] else len(rows), (None, unnamed))
    return rows


class _Scale:
    """Turns places of the log into percentages of the axis."""

    def __init__(
        self, positions: Mapping[Place, float], low: float, high: float, *, is_common: bool
    ) -> None:
        self.positions, self.low, self.high = positions, low, high
        # Whether places of all lanes can be compared.
        self.is_common = is_common

    def at(self, file: str, line: int) -> float | None:
        """Return where a line stands; None where nothing is known of it."""
        position = self.positions.get((file, line))
        if position is None:
            return None
        if self.high <= self.low:
            return 50.0
        share = (position - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def is_before(self, file: str, line: int) -> bool:
        """Say whether a line stands before the axis begins."""
        return self.positions.get((file, line), self.low) < self.low


class _Clock:
    """Tells the seconds of places on the clock of the first host, as well as that is known."""

    def __init__(
        self,
        moment_at: Callable[[str, int], Moment | None],
        skews: Mapping[str, float],
        hosts: Mapping[Place, str],
    ) -> None:
        self.moment_at, self.skews, self.hosts = moment_at, skews, hosts
        self.clocks: set[str] = set()

    def seconds(self, place: Place) -> float | None:
        """Return when a line was printed; None without a stamp near it."""
        moment = self.moment_at(*place)
        if moment is None:
            return None
        self.clocks.add("date" if moment.clock in _DATED else moment.clock)
        candidates = (moment.host, self.hosts.get(place), place[0])
        host = next((each for each in candidates if each in self.skews), None)
        return moment.seconds - (self.skews[host] if host is not None else 0.0)


def _hosts(verdict: Mapping[str, Any], events: Iterable[Event]) -> dict[Place, str]:
    """Return the hosts that printed lines, as far as the verdict tells."""
    of_rank = {each["rank"]: each["host"] for each in verdict["ranks"] if each["host"]}
    hosts: dict[Place, str] = {}
    for each in verdict["ranks"]:
        if each["rank"] in of_rank and each["file"]:
            hosts[each["file"], each["first_line"]] = of_rank[each["rank"]]
            hosts[each["file"], each["last_line"]] = of_rank[each["rank"]]
    for event in events:
        if len(event.ranks) == 1 and event.ranks[0] in of_rank:
            hosts.setdefault((event.file, event.line), of_rank[event.ranks[0]])
    return hosts


_Rows = Sequence[tuple[RankGroup | None, Sequence[Event]]]


def _measure(
    places: Iterable[Place], rows: _Rows, zero: Event | None, clock: _Clock
) -> tuple[str, dict[Place, float]]:
    """Return "time" and the seconds of each place; else why the axis cannot be time."""
    # The root first: where it has no stamp, no other is looked for.
    first = [(zero.file, zero.line)] if zero else []
    return _times((*first, *sorted(places)), rows, clock)


def _lines(
    kind: str, places: Iterable[Place], lines_of: Mapping[str, int]
) -> tuple[str, dict[Place, float]]:
    """Return what the lines measure, and the number of each place on that axis."""
    ordered = sorted(places)
    if len({file for file, _line in ordered}) > 1:
        return "files", {(file, line): line / max(lines_of[file], 1) for file, line in ordered}
    lines = {(file, line): float(line) for file, line in ordered}
    return "chosen" if kind == "time" else kind, lines


def _times(places: Sequence[Place], rows: _Rows, clock: _Clock) -> tuple[str, dict[Place, float]]:
    seconds: dict[Place, float] = {}
    for place in places:
        if (at := clock.seconds(place)) is None:
            return "no_stamps", {}
        seconds[place] = at
    if len(clock.clocks) > 1:
        return "clocks", {}
    if len(set(seconds.values())) < 2:
        return "no_stamps", {}
    return ("backwards" if _run_backwards(seconds, rows) else "time"), seconds


def _run_backwards(seconds: Mapping[Place, float], rows: _Rows) -> bool:
    """Say whether in a lane a later line of a file has the earlier stamp."""
    for group, events in rows:
        spans = group.spans if group else ()
        lane = {(each.file, each.line) for each in events}
        lane.update(
            (span.file, line) for span in spans for line in (span.first_line, span.last_line)
        )
        for one, other in pairwise(sorted(lane & seconds.keys())):
            if one[0] == other[0] and seconds[one] - seconds[other] > _BACKWARDS_SECONDS:
                return True
    return False


def _shown(
    kind: str, positions: Mapping[Place, float], events: Sequence[Event]
) -> tuple[float, float]:
    """Return the part of the log that the axis shows: all, or what happened and a little before."""
    if kind == "files":
        return 0.0, 1.0
    low, high = min(positions.values(), default=0.0), max(positions.values(), default=0.0)
    happened = [
        positions[each.file, each.line] for each in events if (each.file, each.line) in positions
    ]
    if happened and 0 < high - min(happened) < _SHARE_OF_EVENTS * (high - low):
        first = min(happened)
        low = max(low, first - (high - first) / 3)
    return low, high


def _axis(kind: str, scale: _Scale, zero: Event | None, *, has_time: bool) -> Axis:
    at = scale.at(zero.file, zero.line) if zero else None
    left, right = _ends(kind, scale, zero if at is not None else None)
    return Axis(kind, has_time, left, right, at, zero if at is not None else None)


def _ends(kind: str, scale: _Scale, zero: Event | None) -> tuple[str, str]:
    """Return the two ends of the axis in words; in time, as seen from the root."""
    if kind == "files":
        return "first line", "last line"
    if kind != "time":
        return f"line {scale.low:.0f}", f"line {scale.high:.0f}"
    if zero is None:
        return "", duration_in_words(scale.high - scale.low)
    root = scale.positions[zero.file, zero.line]
    left, right = duration_in_words(root - scale.low), duration_in_words(scale.high - root)
    return f"{left} before" if left else "", f"{right} after" if right else ""


def _lane(
    group: RankGroup | None, events: Sequence[Event], scale: _Scale, zero: Event | None, y: int
) -> Lane:
    label = _label(group.ranks) if group else _label_of_unnamed(events)
    lane = Lane(group, label, _host(group), y, marks=tuple(_marks(events, scale)))
    hurts = [
        place
        for mark in lane.marks
        for event, place in zip(mark.events, mark.places, strict=True)
        if event.kind in _HURTS
    ]
    if zero is not None and group is not None and group.fate in _FOLLOW and scale.is_common:
        # What these ranks printed after the root failed is part of what followed.
        hurts.append(scale.at(zero.file, zero.line) or 0.0)
    spans = group.spans if group else ()
    starts = [at for span in spans if (at := scale.at(span.file, span.first_line)) is not None]
    ends = [at for span in spans if (at := scale.at(span.file, span.last_line)) is not None]
    if not starts or not ends:
        return lane
    start, end = min(starts), max(ends)
    return dataclasses.replace(
        lane,
        start=start,
        end=end,
        hurt=min(max(min(hurts), start), end) if hurts else None,
        begins_earlier=any(scale.is_before(span.file, span.first_line) for span in spans),
    )


def _marks(events: Sequence[Event], scale: _Scale) -> Iterator[Mark]:
    """Yield the marks of a lane from left to right; those that would overlap are one."""
    placed = sorted(
        (
            (at, order, event)
            for order, event in enumerate(events)
            if (at := scale.at(event.file, event.line)) is not None
        ),
        key=lambda each: each[:2],
    )
    close: list[tuple[float, int, Event]] = []
    for each in placed:
        if close and each[0] - close[0][0] >= _APART:
            yield _mark(close)
            close = []
        close.append(each)
    if close:
        yield _mark(close)


def _mark(close: Sequence[tuple[float, int, Event]]) -> Mark:
    # The order of events is that of their weight.
    ordered = sorted(close, key=lambda each: each[1])
    return Mark(
        x=ordered[0][0],
        kind=ordered[0][2].kind,
        events=tuple(event for _at, _order, event in ordered),
        places=tuple(at for at, _order, _event in ordered),
    )


def _label(ranks: Sequence[int]) -> str:
    words = ranks_in_words(ranks, most_runs=2) or "no rank named"
    return words if len(words) <= _LABEL_CHARACTERS else f"{len(ranks)} ranks"


def _label_of_unnamed(events: Sequence[Event]) -> str:
    if all(event.kind == "summary" for event in events):
        return "launcher"
    return _label(events[0].ranks)


def _host(group: RankGroup | None) -> str:
    if group is None or not group.hosts:
        return ""
    if len(group.hosts) > 1:
        return f"{len(group.hosts)} hosts"
    # Names of hosts differ in the end of their first part.
    name = group.hosts[0].partition(".")[0] or group.hosts[0]
    return name if len(name) <= _LABEL_CHARACTERS else f"…{name[1 - _LABEL_CHARACTERS :]}"


def duration_in_words(seconds: float) -> str:
    """Return a length of time as people say it, to about a hundredth of it; "" for none."""
    if seconds < 0.05:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, part, smaller in _UNITS:
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit} {rest} {smaller}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"
