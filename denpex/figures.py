"""How often the engine is right, as `make figures` measured and stored it."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "FIGURES",
    "Column",
    "Group",
    "Row",
    "Summary",
    "columns",
    "groups",
    "overall",
    "summary",
]

FIGURES = Path(__file__).with_name("figures.json")


@dataclass(frozen=True, slots=True)
class Column:
    """One figure: its name in the file, what its column is called, and what it means."""

    key: str
    name: str
    meaning: str


_COLUMNS: Sequence[Column] = (
    Column("top-1", "First", "The failure named first is the right one."),
    Column("top-3", "Among three", "It, or one of the first two other possibilities, is right."),
    Column(
        "decided",
        "Decided",
        "It is right, and said with high or medium confidence. Counted where the cause is in the"
        " log: saying little is no way to win.",
    ),
    Column("rank", "Rank", "The rank that failed first is the right one, where the log shows it."),
    Column("negatives", "Left alone", "Nothing failed in the log, and the verdict says so."),
    Column("evidence", "Evidence", "One of the lines shown proves it."),
    Column("fix", "Fix", "The fix names what mends it."),
    Column("invented", "Ranks invented", "A rank was named that no line of evidence prints."),
    Column("wrong", "Wrong", "A failure was called established or probable, and was another."),
    Column(
        "wrong high", "Wrong and sure", "The same, said with high confidence: the worst there is."
    ),
    Column("collateral", "Collateral first", "A consequence was named in place of its cause."),
)
_ALL = "all"
_DIFFICULTIES = {
    "easy": "Easy: one telling line",
    "medium": "Medium: noise and cascades",
    "hard": "Hard: the loudest lines mislead",
}
_NAMES = {_ALL: "All", "lab": "Faults injected in a lab", **_DIFFICULTIES}


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of some of the logs, as texts, in the order of `columns`."""

    name: str
    cases: int
    cells: tuple[tuple[Column, str], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that part the logs in one way; together they hold each log once."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures that one sentence holds."""

    cases: int
    right: int
    failed: int
    wrong: int
    left_alone: int
    healthy: int


def columns() -> Sequence[Column]:
    """Return what is measured, in the order of the table."""
    return _COLUMNS


def overall() -> Row:
    """Return the figures over all logs."""
    return _row(_ALL)


def groups() -> Sequence[Group]:
    """Return the figures by kind of failure, and by difficulty."""
    kinds = tuple(_row(key) for key in _table() if key not in {_ALL, *_DIFFICULTIES})
    difficulties = tuple(_row(key) for key in _DIFFICULTIES)
    return (Group("Kind", kinds), Group("Difficulty", difficulties))


def summary() -> Summary:
    """Return what one sentence says of all logs."""
    figures = _table()[_ALL]
    (right, failed), (left_alone, healthy) = figures["top-1"], figures["negatives"]
    return Summary(figures["cases"], right, failed, figures["wrong"], left_alone, healthy)


def _row(key: str) -> Row:
    figures = _table()[key]
    cells = tuple((column, _cell(figures[column.key])) for column in _COLUMNS)
    return Row(_NAMES.get(key, key.capitalize()), figures["cases"], cells)


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return table


def _cell(value: object) -> str:
    return f"{value[0]}/{value[1]}" if isinstance(value, list) else str(value)
