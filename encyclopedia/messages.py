"""The message of a failure: what it always prints, with `…` where each run has a value of its own.

People search for the words that all runs share, and a title or a page that gives the sizes, pids,
hosts or paths of one run as its message is about that run alone.
"""

from __future__ import annotations

import re

__all__ = ["ANY_VALUE", "cut_at_a_word", "place_in", "values_of_one_run"]

ANY_VALUE = "…"
_CUT = " …"
_LOOSE_END = " .,:;(=…"

# What differs from run to run, by its shape. An `errno`, a version or a code is no such value.
_VALUES = re.compile(
    r"(?<![\w.])[1-9]\d*(?:\.\d+)?(?:/\d+(?:\.\d+)?)? ?(?:[KMGTPk]i?B?|bytes)\b"  # 7.50G
    r"|(?<![\w.])[1-9]\d*(?:\.\d+)? ?(?:ms|s|sec|seconds|minutes)\b"  # 26s
    r"|\b(?:[Pp]id|[Pp]rocess|[Rr]ank|CPU|GPU|[Ss]hard|[Tt]arget|[Ll]ink|worker|row) ?[:=#]? ?\d+\b"
    r"|\b(?:rank|step|node|gpu)-?\d+\b"  # rank1-step2000
    r"|\b[a-z]+(?:-[a-z]+)*-[a-z0-9]*\d[a-z0-9]*\b"  # gpu-b-07
    r"|(?<![\w:/.…])/(?:[\w.-]+/)+[\w.-]*"  # /data/prep/shards
    r"|'(?!https?:)[\w.:-]*/[\w./-]+'"  # 'checkpoints/last.ckpt'
)


def place_in(text: str, message: str) -> int:
    """Return where in one line of text the message begins, whatever its values; -1 if nowhere."""
    begin, at = -1, 0
    for part in filter(None, message.split(ANY_VALUE)):
        found = text.find(part, at)
        if found < 0:
            return -1
        begin = found if begin < 0 else begin
        at = found + len(part)
    return begin


def cut_at_a_word(text: str, room: int) -> str:
    """Return `text`, or as many of its words as there is room for, and a mark that it was cut."""
    if len(text) <= room:
        return text
    words = text[: room - len(_CUT)].rsplit(" ", 1)[0].rstrip(_LOOSE_END)
    return words + _CUT


def values_of_one_run(message: str) -> list[str]:
    """Return the sizes, times, processes, ranks, hosts and paths that a message names."""
    return [found[0] for found in _VALUES.finditer(message)]
