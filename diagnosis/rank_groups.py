"""Ranks of equal fate taken together, so that a thousand of them are still looked over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from diagnosis.engine.verdict import FATES

__all__ = ["MOST_GROUPS", "RankGroup", "Span", "group_ranks", "merge_silent"]

MOST_GROUPS = 24
# Of so many files at either end of a group's time it is asked when their lines were printed.
_OUTER_SPANS = 32


@dataclass(frozen=True, slots=True)
class Span:
    """The lines of a file from the first to the last that ranks printed; times are as printed."""

    file: str
    first_line: int
    last_line: int
    first_time: str = ""
    last_time: str = ""

    @property
    def first(self) -> tuple[str, int]:
        """The place of its first line."""
        return self.file, self.first_line

    @property
    def last(self) -> tuple[str, int]:
        """The place of its last line."""
        return self.file, self.last_line


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks that shared a fate; `first_time` and `last_time` are as printed.

    `last_collective` is the number of the last one that they entered, or the least and the greatest
    of several; "" where none is told.
    """

    ranks: tuple[int, ...]
    fate: str
    hosts: tuple[str, ...]
    spans: tuple[Span, ...]
    first_time: str
    last_time: str
    last_collective: str = ""

    @property
    def outer_spans(self) -> tuple[Span, ...]:
        """The spans among which are the one that begins first and the one that ends last.

        All of them, unless they are very many: stamps of one kind sort as text.
        """
        if len(self.spans) <= 2 * _OUTER_SPANS:
            return self.spans
        first = sorted(self.spans, key=lambda span: span.first_time or "~")[:_OUTER_SPANS]
        last = sorted(self.spans, key=lambda span: span.last_time)[-_OUTER_SPANS:]
        return tuple(dict.fromkeys((*first, *last)))


def group_ranks(fates: Sequence[Mapping[str, Any]]) -> tuple[RankGroup, ...]:
    """Return what failed first, then the others by host; the more there are, the more is merged."""
    for alike_in in (("rank",), ("fate", "host"), ("fate",)):
        groups: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
        for each in sorted(fates, key=_order):
            groups.setdefault(tuple(each[key] for key in alike_in), []).append(each)
        if len(groups) <= MOST_GROUPS:
            break
    lowest: dict[str | None, int] = {}
    for each in fates:
        lowest[each["host"]] = min(each["rank"], lowest.get(each["host"], each["rank"]))
    root_hosts = {each["host"] for each in fates if each["fate"] == "initiated"}

    def place(group: Sequence[Mapping[str, Any]]) -> tuple[object, ...]:
        one = group[0]
        return (
            one["fate"] != "initiated",
            one["fate"] == "not_in_this_log",
            one["host"] not in root_hosts,
            lowest[one["host"]],
            one["rank"],
        )

    return tuple(_group(group) for group in sorted(groups.values(), key=place))


def merge_silent(groups: Sequence[RankGroup], singled_out: frozenset[int]) -> tuple[RankGroup, ...]:
    """Take neighbours together that printed no line and share fate and host.

    What befell a rank that is `singled_out` befell no other: it stays by itself.
    """

    def alike(group: RankGroup) -> object:
        is_silent = not group.spans and singled_out.isdisjoint(group.ranks)
        return (group.fate, group.hosts) if is_silent else group.ranks

    runs = (list(run) for _alike, run in groupby(groups, key=alike))
    return tuple(
        replace(run[0], ranks=tuple(rank for group in run for rank in group.ranks)) for run in runs
    )


def _order(fate: Mapping[str, Any]) -> tuple[int, int]:
    return FATES.index(fate["fate"]), fate["rank"]


def _group(group: Sequence[Mapping[str, Any]]) -> RankGroup:
    spans = _spans([each for each in group if each["first_line"] is not None])
    # Lines of different files say nothing of which time is the first.
    only = spans[0] if len(spans) == 1 else None
    return RankGroup(
        ranks=tuple(each["rank"] for each in group),
        fate=group[0]["fate"],
        hosts=tuple(dict.fromkeys(each["host"] for each in group if each["host"])),
        spans=spans,
        first_time=only.first_time if only else "",
        last_time=only.last_time if only else "",
        # Verdicts of older engines, kept in a history, tell none.
        last_collective=_least_to_greatest(
            [n for each in group if (n := each.get("last_collective")) is not None]
        ),
    )


def _least_to_greatest(numbers: Sequence[int]) -> str:
    least, greatest = min(numbers, default=None), max(numbers, default=None)
    return "" if least is None else "\N{EN DASH}".join(map(str, dict.fromkeys((least, greatest))))


def _time(
    fates: Sequence[Mapping[str, Any]], line: str, time: str, choose: Callable[..., Any]
) -> str:
    """Return the time that is printed on the first or last line of those that bear one."""
    times = {each[line]: each[time] for each in fates if each[time]}
    return times[choose(times)] if times else ""


def _spans(fates: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    files: dict[str, list[Mapping[str, Any]]] = {}
    for each in fates:
        files.setdefault(each["file"], []).append(each)
    return tuple(
        Span(
            file,
            min(each["first_line"] for each in found),
            max(each["last_line"] for each in found),
            _time(found, "first_line", "first_time", min),
            _time(found, "last_line", "last_time", max),
        )
        for file, found in files.items()
    )
