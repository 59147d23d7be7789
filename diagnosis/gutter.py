"""The strip beside a log that stands for all of it: what is shown, and where the marked lines are.

Places are percentages of its height, as `templates/diagnosis/_gutter.html` draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.store import KeptFile
from diagnosis.timeline import KINDS

__all__ = ["Band", "Gutter", "Tick", "TickGroup", "marked_lines", "stand_for"]

_SMALLEST_BAND = 0.8
_KINDS: Mapping[str, str] = {**KINDS, "sign": "first error", "found": "holds the words"}


@dataclass(frozen=True, slots=True)
class Tick:
    """A marked line."""

    y: float
    line: int
    kind: str


@dataclass(frozen=True, slots=True)
class TickGroup:
    """Marked lines so close together that they are one link, to the first of them."""

    y: float
    href: str
    ticks: tuple[Tick, ...]

    @property
    def words(self) -> str:
        """What the link leads to."""
        return ", ".join(f"line {tick.line} ({_KINDS[tick.kind]})" for tick in self.ticks)


@dataclass(frozen=True, slots=True)
class Band:
    """Lines that are shown beside the strip."""

    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Gutter:
    """The strip of one file of `total` lines."""

    file: str
    total: int
    bands: tuple[Band, ...]
    groups: tuple[TickGroup, ...]


def marked_lines(verdict: Mapping[str, Any], file: str) -> dict[int, str]:
    """Return the lines of a file that the verdict speaks of, each with its kind."""
    primary = verdict["primary"] or {}
    marked: dict[int, str] = {}
    for each in primary.get("evidence", ()):
        if each["file"] == file:
            marked.setdefault(each["line"], each["role"])
    for each in verdict["consequences"]:
        if each["file"] == file:
            marked.setdefault(each["first_line"], "consequence")
    return dict(sorted(marked.items()))


def stand_for(
    file: KeptFile,
    marked: Mapping[int, str],
    shown: Iterable[range],
    href_of: Callable[[str, int], str],
    apart: float,
) -> Gutter:
    """Lay out the strip of a file; marks nearer than `apart` percent share a link."""
    ticks = [
        Tick(_percent(line - 0.5, file.lines), line, kind)
        for line, kind in marked.items()
        if line <= file.lines
    ]
    bands = tuple(
        Band(
            min(_percent(run.start - 1, file.lines), 100 - _SMALLEST_BAND),
            max(_percent(len(run), file.lines), _SMALLEST_BAND),
        )
        for run in shown
    )
    groups = tuple(
        TickGroup(group[0].y, href_of(file.name, group[0].line), tuple(group))
        for group in _together(ticks, apart)
    )
    return Gutter(file.name, file.lines, bands, groups)


def _together(ticks: Sequence[Tick], apart: float) -> Iterator[list[Tick]]:
    group: list[Tick] = []
    for tick in ticks:
        if group and tick.y - group[0].y >= apart:
            yield group
            group = []
        group.append(tick)
    if group:
        yield group


def _percent(lines: float, total: int) -> float:
    return round(100 * lines / max(total, 1), 2)
