"""What the timeline's axis measures: time, where the log tells it, else the order of lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["AXES", "Axis", "Clock", "Moment", "Place", "duration_in_words", "measure"]

# What an axis measures. Why it is not time is said with it.
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
# Where what happened takes up less of the axis, what came long before is left out.
_SHARE_OF_EVENTS = 0.25
# Stamps within a lane that step back by more than this are not of one clock.
_BACKWARDS_SECONDS = 5.0
_DATED = frozenset(("date", "date_without_year"))
_NEAR_AN_END = 25.0
# In percent, at both ends: what stands there stays clear of what is beside it.
_MARGIN = 1.5
# Lengths of time: how many seconds make one, its sign, and what the rest is told in.
_UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))

# A file and the number of a line in it.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a line was printed: seconds on a clock of `stamps.CLOCKS`, and by which host."""

    seconds: float
    clock: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """Tells when places of the log were printed, on the clock of the first host.

    `skews` are the seconds by which the clock of a host runs ahead; `hosts` are those that printed
    lines which do not tell it themselves.
    """

    moment_at: Callable[[str, int], Moment | None]
    skews: Mapping[str, float]
    hosts: Mapping[Place, str]

    def read(self, place: Place) -> tuple[str, float] | None:
        """Return what kind of clock stamped a line, and its seconds; None without a stamp."""
        moment = self.moment_at(*place)
        if moment is None:
            return None
        candidates = (moment.host, self.hosts.get(place), place[0])
        host = next((each for each in candidates if each in self.skews), None)
        seconds = moment.seconds - (self.skews[host] if host is not None else 0.0)
        return "date" if moment.clock in _DATED else moment.clock, seconds


@dataclass(frozen=True, slots=True)
class Axis:
    """What is measured (one of AXES), and where each place of the log stands on it.

    It shows what lies between `low` and `high`. `root` is the place that the verdict is about;
    `has_time` says whether the axis could measure time.
    """

    kind: str
    has_time: bool
    positions: Mapping[Place, float]
    low: float
    high: float
    root: Place | None

    def at(self, place: Place) -> float | None:
        """Return where a place stands, in percent; None where nothing is known of it."""
        position = self.positions.get(place)
        if position is None:
            return None
        if self.high <= self.low:
            return 50.0
        share = (position - self.low) / (self.high - self.low)
        return round(_MARGIN + (100 - 2 * _MARGIN) * min(max(share, 0.0), 1.0), 2)

    def is_before(self, place: Place) -> bool:
        """Say whether a place stands before the axis begins."""
        return self.positions.get(place, self.low) < self.low

    @property
    def is_common(self) -> bool:
        """Whether the places of all lanes can be compared."""
        return self.kind != "files"

    @property
    def zero(self) -> float | None:
        """Where the root stands, in percent."""
        return None if self.root is None else self.at(self.root)

    @property
    def words(self) -> str:
        """What is measured, in a sentence."""
        return AXES[self.kind]

    @property
    def ends(self) -> tuple[str, str]:
        """The two ends of the axis in words; in time, as seen from the root."""
        if self.kind == "files":
            return "first line", "last line"
        if self.kind != "time":
            return f"line {self.low:.0f}", f"line {self.high:.0f}"
        if self.root is None:
            return "", duration_in_words(self.high - self.low)
        root = self.positions[self.root]
        before, after = duration_in_words(root - self.low), duration_in_words(self.high - root)
        return f"{before} before" if before else "", f"{after} after" if after else ""

    @property
    def side(self) -> str:
        """To which side of the root its label stands, so that it stays within the drawing."""
        at = self.zero or 0.0
        return "start" if at < _NEAR_AN_END else "end" if at > 100 - _NEAR_AN_END else "middle"


def measure(
    lanes: Sequence[Collection[Place]],
    happened: Collection[Place],
    clock: Clock,
    lines_of: Mapping[str, int],
    *,
    by_lines: bool,
) -> Axis:
    """Choose what the axis measures, for the places of all lanes.

    `happened` are the places of events, that of the root first if there is one.
    """
    places = sorted({place for lane in lanes for place in lane})
    root = next(iter(happened), None)
    kind, positions = _times(places if root is None else [root, *places], lanes, clock)
    has_time = kind == "time"
    if not has_time or by_lines:
        kind, positions = _lines("chosen" if has_time else kind, places, lines_of)
    low, high = _shown(kind, positions, happened, lines_of)
    return Axis(kind, has_time, positions, low, high, root)


def _times(
    places: Iterable[Place], lanes: Iterable[Collection[Place]], clock: Clock
) -> tuple[str, dict[Place, float]]:
    """Return "time" and the seconds of each place; else why the axis cannot be time."""
    seconds: dict[Place, float] = {}
    clocks: set[str] = set()
    for place in places:
        read = clock.read(place)
        # Most logs without stamps end here, at the first place.
        if read is None:
            return "no_stamps", {}
        clocks.add(read[0])
        seconds[place] = read[1]
    if len(clocks) > 1:
        return "clocks", {}
    if len(set(seconds.values())) < 2:
        return "no_stamps", {}
    if any(_runs_backwards(sorted(lane), seconds) for lane in lanes):
        return "backwards", {}
    return "time", seconds


def _runs_backwards(lane: Sequence[Place], seconds: Mapping[Place, float]) -> bool:
    """Say whether a later line of a file has the earlier stamp."""
    return any(
        one[0] == other[0] and seconds[one] - seconds[other] > _BACKWARDS_SECONDS
        for one, other in pairwise(lane)
    )


def _lines(
    kind: str, places: Sequence[Place], lines_of: Mapping[str, int]
) -> tuple[str, dict[Place, float]]:
    if len({file for file, _line in places}) > 1:
        return "files", {(file, line): line / max(lines_of[file], 1) for file, line in places}
    return kind, {(file, line): float(line) for file, line in places}


def _shown(
    kind: str,
    positions: Mapping[Place, float],
    happened: Iterable[Place],
    lines_of: Mapping[str, int],
) -> tuple[float, float]:
    """Return the part of the log that the axis shows: all, or what happened and a little before."""
    if kind == "files":
        return 0.0, 1.0
    if kind == "time":
        low, high = min(positions.values()), max(positions.values())
    else:
        low, high = 1.0, float(max((lines_of[file] for file, _line in positions), default=1))
    first = min((positions[place] for place in happened), default=low)
    if 0 < high - first < _SHARE_OF_EVENTS * (high - low):
        low = first - (high - first) / 3
    return low, high


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
