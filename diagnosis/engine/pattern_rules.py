"""What a pattern of a failure file may be, so that the scan stays linear and its hits few.

The rules: it does not end in an open repeat (Hyperscan would call back at every byte), it does not
run over a line end, it has no NUL, and it repeats nothing more than 64 times.
"""

from __future__ import annotations

import re
import re._constants as constants  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import warnings
from collections.abc import Iterator
from typing import Any

__all__ = ["LARGEST_REPEAT", "faults"]

LARGEST_REPEAT = 64
_LINE_FEED = ord("\n")
_REPEATS = (constants.MAX_REPEAT, constants.MIN_REPEAT)
# Classes that hold a line feed: whitespace, and what is no digit or no word character.
_CROSSING = (
    constants.CATEGORY_SPACE,
    constants.CATEGORY_NOT_DIGIT,
    constants.CATEGORY_NOT_WORD,
)


def faults(pattern: str) -> Iterator[str]:
    """Yield what is wrong with a pattern, in words; nothing where all is well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            tree = parser.parse(pattern.encode())
    except (re.error, FutureWarning) as error:
        yield f"is no regular expression that all engines read alike: {error}"
        return
    if "\0" in pattern or "\\0" in pattern or "\\x00" in pattern:
        yield "has a NUL"
    if _ends_openly(tree):
        yield "ends in an open repeat: give it an upper bound, or end it earlier"
    for item in _items(tree):
        yield from _item_faults(item)


def _item_faults(item: tuple[Any, Any]) -> Iterator[str]:
    operation, value = item
    if operation in _REPEATS:
        low, high, _ = value
        largest = low if high is constants.MAXREPEAT else high
        if largest > LARGEST_REPEAT:
            yield f"repeats something {largest} times; {LARGEST_REPEAT} is the most"
    if _crosses(operation, value):
        yield "may run over a line end: use [ \\t] for blanks, and put \\n into [^…]"


def _crosses(operation: Any, value: Any) -> bool:
    if operation is constants.LITERAL:
        return bool(value == _LINE_FEED)
    if operation is constants.NOT_LITERAL:
        return bool(value != _LINE_FEED)
    if operation is constants.IN:
        return _class_holds_line_feed(value)
    return False


def _class_holds_line_feed(members: list[tuple[Any, Any]]) -> bool:
    negated = members[0][0] is constants.NEGATE
    named = any(
        (kind is constants.LITERAL and value == _LINE_FEED)
        or (kind is constants.RANGE and value[0] <= _LINE_FEED <= value[1])
        or (kind is constants.CATEGORY and value in _CROSSING)
        for kind, value in members
    )
    return negated != named


def _ends_openly(tree: Any) -> bool:
    if not len(tree):
        return False
    operation, value = tree[-1]
    if operation in _REPEATS:
        return value[1] is constants.MAXREPEAT or _ends_openly(value[2])
    if operation is constants.SUBPATTERN:
        return _ends_openly(value[3])
    if operation is constants.BRANCH:
        return any(map(_ends_openly, value[1]))
    return False


def _items(tree: Any) -> Iterator[tuple[Any, Any]]:
    for operation, value in tree:
        yield operation, value
        if operation in _REPEATS:
            yield from _items(value[2])
        elif operation is constants.SUBPATTERN:
            yield from _items(value[3])
        elif operation is constants.BRANCH:
            for part in value[1]:
                yield from _items(part)
