"""Variants of a fix or of code, one for each stack: headings in a row that a script turns to tabs.

Without a script they stand one below the other, each under its heading.
"""

from __future__ import annotations

import re

__all__ = ["with_stacks"]

# Under `### …` a page has `#### Kubernetes` for each stack; in Code itself it is `### Kubernetes`.
_LEVELS = {"Code": "h3"}
_LEVEL = "h4"
_LEAST = 2


def with_stacks(markup: str, heading: str) -> str:
    """Mark the stacks of a section: `markup` is its HTML, `heading` that of the section."""
    level = _LEVELS.get(heading, _LEVEL)
    # A variant goes on to the next heading of its level, or to a higher one.
    higher = "h3" if level == _LEVEL else level
    parts = re.split(rf"(?=<{level}>|<{higher}>)", markup)
    return _without_a_gap("".join(_grouped(parts, f"<{level}>")))


def _without_a_gap(markup: str) -> str:
    """Raise the headings of stacks that stand under the section itself, whose own is an h2."""
    above, first, below = markup.partition("<h3>")
    return above.replace("<h4>", "<h3>").replace("</h4>", "</h3>") + first + below


def _grouped(parts: list[str], opening: str) -> list[str]:
    """Put parts in a row that begin with a stack's heading into one element."""
    done: list[str] = []
    row: list[str] = []
    for part in [*parts, ""]:
        if part.startswith(opening):
            row.append(part)
            continue
        done += [_group(row)] if len(row) >= _LEAST else row
        done.append(part)
        row = []
    return done


def _group(row: list[str]) -> str:
    sections = "".join(f'<section class="stack">{part}</section>' for part in row)
    return f'<div class="stacks">{sections}</div>'
