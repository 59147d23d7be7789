"""RE2 over bytes: linear time whatever the text, named groups out.

The binding below google-re2's own wrapper is called directly: the wrapper's Match objects cost
three times the match itself, and reading one line takes several matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from re2 import _re2 as binding

__all__ = ["BytePattern", "BytePatternSet", "Found", "PatternError"]

PatternError = binding.Error

_FRONT = binding.RE2.Anchor.ANCHOR_START
_WHOLE = binding.RE2.Anchor.ANCHOR_BOTH
_ANYWHERE = binding.RE2.Anchor.UNANCHORED


class Found(NamedTuple):
    """A match: its offsets in the text, and the named groups that took part in it."""

    start: int
    end: int
    groups: dict[str, bytes]


class BytePattern:
    """One RE2 pattern; text beyond ASCII in it stands for its UTF-8 bytes.

    Raises PatternError where the pattern is not RE2.
    """

    __slots__ = ("_groups", "_regexp", "names")

    def __init__(self, pattern: str) -> None:
        self._regexp = binding.RE2(pattern.encode(), _options())
        if not self._regexp.ok():
            raise PatternError(self._regexp.error().decode())
        self._groups: Sequence[tuple[str, int]] = tuple(
            (name.decode(), number) for name, number in self._regexp.NamedCapturingGroups()
        )
        self.names = frozenset(name for name, _ in self._groups)

    def match(self, text: bytes) -> Found | None:
        """Match at the front of `text`."""
        return self._found(_FRONT, text, 0)

    def fullmatch(self, text: bytes) -> Found | None:
        """Match the whole of `text`."""
        return self._found(_WHOLE, text, 0)

    def search(self, text: bytes, start: int = 0) -> Found | None:
        """Find the first match in `text`, from `start` on."""
        return self._found(_ANYWHERE, text, start)

    def _found(self, anchor: object, text: bytes, start: int) -> Found | None:
        spans = self._regexp.Match(anchor, text, start, len(text))
        begin, end = spans[0]
        if begin < 0:
            return None
        groups = {}
        for name, number in self._groups:
            left, right = spans[number]
            if left >= 0:
                groups[name] = text[left:right]
        return Found(begin, end, groups)


class BytePatternSet:
    """RE2 patterns tried all at once at the front of a text."""

    __slots__ = ("_set",)

    def __init__(self, patterns: Sequence[str]) -> None:
        self._set = binding.Set(_FRONT, _options())
        for pattern in patterns:
            self._set.Add(pattern.encode())
        self._set.Compile()

    def matches(self, text: bytes) -> list[int]:
        """Return the indexes of the patterns that match, in ascending order."""
        return sorted(self._set.Match(text))


def _options() -> binding.RE2.Options:
    options = binding.RE2.Options()
    options.encoding = binding.RE2.Options.Encoding.LATIN1
    options.log_errors = False
    return options
