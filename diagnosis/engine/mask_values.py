"""Reads the value of an assignment: quoted, bare, in a list, in a block of YAML, cut in two."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from diagnosis.engine.mask_spans import LINE_END, Range, end_of

__all__ = ["BareEnds", "Setting", "Value", "values", "whole"]

# Before a value: blanks, YAML's tag, the bracket of a list or a call, Python's prefix, the quote.
_OPENING = re.compile(
    rb"=?>?[ \t]{0,8}+(?:!{1,2}\w{1,16}+[ \t]{1,4}+)?(?P<list>\[)?\(?[ \t]{0,2}+"
    rb"(?:[bBuUrRfF]{1,2}+(?=[\"'\\]))?(?P<quote>\\{0,7}+(?:\"\"\"|'''|[\"'`]))?"
)
_NEXT_OF_LIST = re.compile(rb",[ \t]{0,4}")
_MOST_OF_LIST = 64
# A bare value is judged by so much of it, and hidden whole.
_JUDGED = 4096
_BARE = re.compile(rb"[^\s\"'`<>]{1,4096}+")
_BARE_WHOLE = re.compile(rb"[^\s\"'`<>]++")
# Where a bare value ends before its blank: at an escaped line end, at the next pair, at brackets.
_BARE_END = re.compile(rb"\\+[nrt](?![\w-]*\\)|[,;&|](?=[\s\w.\"'-]*[=:]|\Z)|[)\]},;.:\\]+\Z")
# In a line of its own (`export NAME=value`) a value runs to the blank, whatever is in it; and a
# password may be three words or more, if the line holds nothing else.
_LINE_VALUE = re.compile(rb"[^\s<\"'][^\s]{0,4095}+")
_LINE_VALUE_END = re.compile(rb";+\Z")
_MORE_WORDS = re.compile(rb"(?: [A-Za-z0-9!@#$%^&*_+?]{1,64}+){2,16}+(?=[ \t]*(?:[\r\n]|\Z))")
# In an encoded address: up to the encoded `&`.
_ENCODED = re.compile(rb"(?:[A-Za-z0-9._~+*-]|%(?!26)[0-9A-Fa-f]{2}){1,4096}+")
_BLOCK_MARK = re.compile(rb"[|>][+-]?\d?[ \t]{0,8}+(?=[\r\n])")
_BLOCK_LINE = re.compile(rb"(?P<indent>[ \t]{1,64}+)(?P<content>[^\r\n]++)")
_MOST_OF_BLOCK = 64


@dataclass(frozen=True, slots=True)
class Setting:
    """What surrounds a name and tells how its value ends.

    `quote` opens before the name (`"NAME=value"`); `own_line` says that the line begins with the
    name; `encoded`, that the separator is percent-encoded; `words`, that a value may have several.
    """

    quote: bytes = b""
    own_line: bool = False
    encoded: bool = False
    words: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an assignment: several ranges where it has several lines.

    `runs_on` says that it is bare and goes on behind what was read of it.
    """

    ranges: tuple[Range, ...]
    quoted: bool
    runs_on: bool = False

    def of(self, text: bytes) -> bytes:
        """Return the value without the line ends inside it."""
        return b"".join(text[start:stop] for start, stop in self.ranges)


class BareEnds:
    """Tells where the bare values of one text end; values that overlap are read once."""

    def __init__(self) -> None:
        self._begin = self._end = 0
        self._runs_on = False

    def end(self, text: bytes, begin: int) -> tuple[int, bool]:
        """Return where the value that begins here ends, and whether it runs on behind that."""
        if not self._begin <= begin < self._end:
            judged = text[begin : end_of(_BARE, text, begin)]
            end = _BARE_END.search(judged)
            self._begin = begin
            self._end = begin + (end.start() if end else len(judged))
            self._runs_on = self._end - begin == _JUDGED
        return self._end, self._runs_on


def values(text: bytes, begin: int, setting: Setting, ends: BareEnds) -> list[Value]:
    """Return what is assigned at `begin`: one value, those of a list in brackets, or none."""
    if setting.encoded:
        return _one((begin, end_of(_ENCODED, text, begin)), quoted=True)
    block = _block(text, begin)
    opening = _OPENING.match(text, begin)
    if block or not opening:
        return [block] if block else []
    if opening["list"]:
        return _listed(text, opening, ends)
    start, quote = opening.end(), opening["quote"] or setting.quote
    if quote:
        return [_quoted(text, start, quote)]
    end, runs_on = _line_end(text, start, setting) if setting.own_line else ends.end(text, start)
    return _one((start, end), quoted=False, runs_on=runs_on)


def whole(text: bytes, value: Value) -> tuple[Range, ...]:
    """Return all of a value: of a bare one, only the front has been read so far."""
    if not value.runs_on:
        return value.ranges
    begin, _ = value.ranges[-1]
    return (*value.ranges[:-1], (begin, end_of(_BARE_WHOLE, text, begin)))


def _one(span: Range, *, quoted: bool, runs_on: bool = False) -> list[Value]:
    return [Value((span,), quoted, runs_on)] if span[1] > span[0] else []


def _listed(text: bytes, opening: re.Match[bytes], ends: BareEnds) -> list[Value]:
    listed: list[Value] = []
    for _ in range(_MOST_OF_LIST):
        quote = opening["quote"]
        begin = opening.end()
        if quote:
            value = _quoted(text, begin, quote)
        else:
            end, runs_on = ends.end(text, begin)
            value = Value(((begin, end),), quoted=False, runs_on=runs_on)
        listed.append(value)
        comma = _NEXT_OF_LIST.match(text, value.ranges[-1][1] + len(quote or b""))
        next_opening = _OPENING.match(text, comma.end()) if comma else None
        if not next_opening:
            break
        opening = next_opening
    return listed


def _line_end(text: bytes, begin: int, setting: Setting) -> tuple[int, bool]:
    judged = text[begin : end_of(_LINE_VALUE, text, begin)]
    end = _LINE_VALUE_END.search(judged)
    if end:
        return begin + end.start(), False
    stop = begin + len(judged)
    more = end_of(_MORE_WORDS, text, stop) if setting.words else stop
    return more, len(judged) == _JUDGED


def _quoted(text: bytes, begin: int, quote: bytes) -> Value:
    stop = end_of(_quoted_content(quote), text, begin)
    if text[stop : stop + len(quote)] == quote:
        return Value(((begin, stop),), quoted=True)
    rest = _rest_of_quoted(text, stop, quote)
    return Value(((begin, stop), rest) if rest else ((begin, stop),), quoted=True)


@functools.cache
def _quoted_content(quote: bytes) -> re.Pattern[bytes]:
    """Return the pattern of what stands before the same quote with as many backslashes.

    It ends with the line where the quote is not closed.
    """
    if len(quote) == 1:
        return re.compile(rb"(?:[^" + quote + rb"\\\r\n]|\\[^\r\n])*+")
    return re.compile(rb"(?:(?!" + re.escape(quote) + rb")[^\r\n])*+")


def _rest_of_quoted(text: bytes, stop: int, quote: bytes) -> Range | None:
    """Return the rest of a quoted value whose line was cut, if the next line begins with it."""
    line_end = LINE_END.match(text, stop)
    if not line_end:
        return None
    begin = line_end.end()
    end = end_of(_BARE, text, begin)
    return (begin, end) if end > begin and text[end : end + len(quote)] == quote else None


def _block(text: bytes, begin: int) -> Value | None:
    """Return the lines of YAML's block behind `|` or `>`: those indented like the first."""
    mark_begin = begin + 1 if text[begin : begin + 1] == b" " else begin
    mark = _BLOCK_MARK.match(text, mark_begin)
    if not mark:
        return None
    ranges: list[Range] = []
    indent: bytes | None = None
    position = mark.end()
    for _ in range(_MOST_OF_BLOCK):
        line_end = LINE_END.match(text, position)
        line = _BLOCK_LINE.match(text, line_end.end()) if line_end else None
        if not line or (indent is not None and line["indent"] != indent):
            break
        indent = line["indent"]
        ranges.append(line.span("content"))
        position = line.end()
    return Value(tuple(ranges), quoted=True) if ranges else None
