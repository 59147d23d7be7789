"""A prefix of no known kind that a collector put in front of every line: `job-7.node-3 [stderr] `.

Numbers aside it is the same text on nearly all lines, those that fail and those that do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

__all__ = ["SharedPrefix", "find_shared_prefix"]

# Fewer lines that begin alike prove nothing.
_FEWEST_LINES = 8
# Some lines come from elsewhere: what a shell printed before, a message of several lines.
_SHARE = 0.9
_LONGEST = 120
_NUMBER = re.compile(rb"\d+")
# Where a label may end; a blank behind it is its own. `grep -Hn` puts none: `run.log:12:`.
_ENDS = re.compile(rb"[\]|>:](?: |$)|[^\s] |0:(?! |$)")
_LETTER = re.compile(rb"[A-Za-z]")
_ANY_NUMBER = rb"\d+"
# A stamp changes as time goes by, a label from process to process.
_STAMP = re.compile(rb"0[:/-]0[:/T -]")
_LINES_A_LABEL = 4


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """The prefix as a pattern; `labels` says that its numbers tell processes apart."""

    pattern: re.Pattern[bytes]
    labels: bool

    def length_in(self, message: bytes) -> int:
        """Return how long the prefix is at the front of a message; 0 where it is not there."""
        found = self.pattern.match(message)
        return 0 if found is None else found.end()


def find_shared_prefix(
    plain: Sequence[bytes], telling: Sequence[bytes], is_known: Callable[[bytes], bool]
) -> SharedPrefix | None:
    """Return what nearly all messages begin with, or None.

    `plain` are messages in which nothing was found, `telling` those in which something was: words
    that a run repeats all the time stand in the plain ones alone. `is_known` says whether a text
    begins with a prefix of a known kind: before those this one ends.
    """
    messages = [*plain, *telling]
    if len(messages) < _FEWEST_LINES or not telling:
        return None
    samples = [[_even(message) for message in group] for group in (plain, telling) if group]
    shared = [
        _compiled(even, messages)
        for even in sorted(_candidates(samples[0]), key=len)
        if all(_share(even, lines) >= _SHARE for lines in samples)
    ]
    if not shared:
        return None
    known = [
        sum(is_known(message[each.length_in(message) :]) for message in messages) for each in shared
    ]
    # The shortest behind which most is known; where nothing is, the longest.
    return shared[known.index(max(known))] if any(known) else shared[-1]


def _even(message: bytes) -> bytes:
    return _NUMBER.sub(b"0", message[:_LONGEST])


def _candidates(lines: Sequence[bytes]) -> Iterable[bytes]:
    """Yield what some of the lines begin with, up to each place where a label may end."""
    few = dict.fromkeys(lines[:: max(1, len(lines) // _FEWEST_LINES)])
    found = {line[: end.end()] for line in few for end in _ENDS.finditer(line)}
    return (each for each in found if _LETTER.search(each) or each.count(b"0") > 1)


def _share(prefix: bytes, lines: Sequence[bytes]) -> float:
    """Return the share of the lines that begin so; a blank at its end may be missing."""
    bare = prefix.rstrip()
    return sum(line.startswith(prefix) or line.rstrip() == bare for line in lines) / len(lines)


def _compiled(even: bytes, messages: Sequence[bytes]) -> SharedPrefix:
    written = re.escape(even.rstrip()).replace(b"0", _ANY_NUMBER)
    pattern = re.compile(written + (rb"(?: |\s*$)" if even.endswith(b" ") else b""))
    texts = {found[0] for message in messages if (found := pattern.match(message))}
    several = 1 < len(texts) <= len(messages) // _LINES_A_LABEL
    return SharedPrefix(pattern, several and not _STAMP.search(even))
