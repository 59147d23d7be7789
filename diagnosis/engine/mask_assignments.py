"""Finds secrets by the name they are assigned to: in environments, JSON, YAML, code, arguments.

The hit of the anchor ends behind the name, at the separator. The name is read back from there, the
words of the data file say how sure it makes, and the value is read forward.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnosis.engine.mask_spans import (
    JUDGED,
    LINE_END,
    NOTHING,
    Find,
    Found,
    Range,
    end_of,
    has_both_cases,
    has_digit,
    is_placeholder,
    is_random,
)

if TYPE_CHECKING:
    from diagnosis.engine.mask_files import Mask

__all__ = ["assignment"]

# How sure a name makes that its value is a secret.
_NEVER, _LIKELY, _ALWAYS = 0, 1, 2

_NAME_REACH = 96
# Read backwards from the hit: what stands last in the text stands first here.
_NAME_BACKWARDS = re.compile(
    rb"(?P<mark>[:=][ \t]{0,3}+|[\"'\\][ \t]?,[ \t]{0,3}+|[ \t])"
    rb"(?P<closing>[\"'\\\])]{0,8}+)(?P<name>[\w.-]{1,90}+)"
)
# `name: DB_PASSWORD` before `value:`, in the same line or the line before, as Kubernetes writes.
_PAIR_REACH = 200
_PAIRED_NAME = re.compile(
    rb"\bname[\"'\\]{0,4}[ \t]?[:=][ \t]{0,4}[\"'\\]{0,4}(?P<name>[\w.-]{1,90}+)"
    rb"[\"'\\]{0,4},?\s{0,60}(?:- )?[\"'\\]{0,4}\Z"
)
_PAIR_VALUE = b"value"
_CAMEL_HUMP = re.compile(rb"(?<=[a-z0-9])(?=[A-Z])")
_NAME_PARTS = 4

_OPENING = re.compile(
    rb"=?>?[ \t]{0,8}+(?P<list>\[)?\(?[ \t]{0,2}+(?:[bBuUrRfF]{1,2}+(?=[\"'\\]))?"
    rb"(?P<quote>\\{0,7}+(?:\"\"\"|'''|[\"'`]))?"
)
_NEXT_OF_LIST = re.compile(rb",[ \t]{0,4}")
_MOST_OF_LIST = 64
# A bare value is judged by so much of it, and hidden whole.
_BARE_JUDGED = 4096
_BARE = re.compile(rb"[^\s\"'`<>]{1,4096}+")
_BARE_WHOLE = re.compile(rb"[^\s\"'`<>]++")
# Where a bare value ends before its blank: at an escaped line end, at the next pair, at brackets.
_BARE_END = re.compile(rb"\\+[nrt](?![\w-]*\\)|[,;&|](?=[\s\w.\"'-]*[=:]|\Z)|[)\]},;.:\\]+\Z")

# What is no value: code that fetches one, a path of a file that holds one, a number, a word.
_CODE = re.compile(
    rb"[A-Za-z_][\w.]*[(\[]"
    rb"|(?:self|args|cfg|config|settings|os|env|conf|opts|options|kwargs|params)\b[.\[]"
    rb"|[a-z_][a-z_.]*(?:key|token|secret|password|passwd|pass|pwd|auth|credentials?)\Z"
)
_PATH = re.compile(rb"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.-]+(?:[/\\][\w.-]+)*[/\\]?\Z")
_PATH_PART = re.compile(rb"[/\\]")
_RANDOM_PART = 16
_FEW_DIGITS = re.compile(rb"[+-]?[\d.,_]{1,7}\Z")
_WORD = re.compile(rb"[A-Za-z]{1,20}[.,;:!]?\Z")
_SPEAKS_ON = re.compile(rb"[ \t]+\w")
_REFERENCE = (b"$", b"%", b"{", b"os.environ")
# What follows has a mask of its own, which leaves the scheme.
_SCHEME = re.compile(rb"(?i:bearer|basic|token|digest|bot|apikey|negotiate)(?:[ \t]|%20|\Z)")
_LEAST_ALWAYS, _LEAST_ARGUMENT, _LEAST_LIKELY = 4, 8, 12


@dataclass(frozen=True, slots=True)
class _Name:
    """The name of an assignment; an `argument` of a command line has its value behind a blank."""

    text: bytes
    argument: bool
    colon: bool

    @property
    def is_password(self) -> bool:
        """Say whether the name speaks of a password, which may have any form."""
        lowered = self.text.lower()
        return b"pass" in lowered or lowered.endswith((b"pwd", b"pw"))

    @property
    def may_be_path(self) -> bool:
        """Say whether the name may as well be one of a file that holds the secret."""
        return not self.is_password and b"secret" not in self.text.lower()


@dataclass(frozen=True, slots=True)
class _Value:
    """The value of an assignment: in two ranges where a terminal cut its line."""

    ranges: tuple[Range, ...]
    quoted: bool

    def of(self, text: bytes) -> bytes:
        """Return the value without the line end inside it."""
        return b"".join(text[start:stop] for start, stop in self.ranges)


def assignment(mask: Mask) -> Find:
    """Return the finder of assignments; `words` of the mask are the policy."""
    strength = functools.lru_cache(maxsize=4096)(functools.partial(_strength, mask.words))
    stand_ins = mask.words["values"]

    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> Found:
        read = _read_name(text, floor, end)
        if read is None:
            return NOTHING
        name, begin = read
        certainty = strength(name.text)
        if certainty == _NEVER:
            return NOTHING
        kind = "password" if name.is_password else "token"
        spans = []
        for value in _values(text, begin):
            identity = value.of(text)
            if is_placeholder(identity) or identity.lower().strip(b"()[]{}.,:;!") in stand_ins:
                continue
            if _is_secret(name, certainty, identity, value, text):
                ranges = value.ranges if value.quoted else _whole(text, *value.ranges)
                spans += [(start, stop, kind, identity) for start, stop in ranges]
        return spans, spans[-1][1] if spans else 0

    return find


# --- names --------------------------------------------------------------------------------------


def _read_name(text: bytes, floor: int, end: int) -> tuple[_Name, int] | None:
    """Return the name before the hit, and where its value begins."""
    match = _NAME_BACKWARDS.match(text[max(floor, end - _NAME_REACH, 0) : end][::-1])
    if not match:
        return None
    mark, written = match["mark"], match["name"][::-1]
    # Behind a comma the hit ends in the opening quote of the next argument.
    begin = end - (mark[:1] in (b'"', b"'", b"\\"))
    name = written.lstrip(b"-")
    if name.lower() == _PAIR_VALUE:
        start = end - match.end()
        pair = _PAIRED_NAME.search(text, max(floor, start - _PAIR_REACH, 0), start)
        if not pair:
            return None
        name = pair["name"]
    if not name:
        return None
    argument = written.startswith(b"-") and not mark.strip()
    return _Name(name, argument, colon=mark.strip() == b":"), begin


def _strength(words: Mapping[str, frozenset[bytes]], name: bytes) -> int:
    """Return how sure a name makes that its value is secret."""
    parts = _parts(name)
    tails = [
        b"_".join(parts[first:]) for first in range(max(0, len(parts) - _NAME_PARTS), len(parts))
    ]
    if name in words["directories"] or any(tail in words["never"] for tail in tails):
        return _NEVER
    last = parts[-1]
    if last == b"token" and any(
        b"_".join(parts[:-1][-count:]) in words["tokenizer"] for count in (1, 2)
    ):
        return _NEVER
    if any(tail in words["always"] for tail in tails) or last.endswith(tuple(words["endings"])):
        return _ALWAYS
    if last in words["likely"]:
        return _ALWAYS if len(parts) > 1 and name.isupper() else _LIKELY
    return _ALWAYS if name.isupper() and last.endswith((b"token", b"apikey")) else _NEVER


def _parts(name: bytes) -> list[bytes]:
    """Return the words of a name in small letters, without numbers and the s of a plural."""
    snake = _CAMEL_HUMP.sub(b"_", name).lower().replace(b"-", b"_").replace(b".", b"_")
    *parts, last = snake.rstrip(b"0123456789").strip(b"_").split(b"_")
    plural = last.endswith(b"s") and not last.endswith((b"ss", b"tokens"))
    return [*parts, last[:-1] if plural else last]


# --- values -------------------------------------------------------------------------------------


def _values(text: bytes, start: int) -> list[_Value]:
    """Return what is assigned: one value, or those of a list in brackets."""
    opening = _OPENING.match(text, start)
    if not opening:
        return []
    values: list[_Value] = []
    in_list = bool(opening["list"])
    for _ in range(_MOST_OF_LIST if in_list else 1):
        value = _value(text, opening.end(), opening["quote"])
        if not value.ranges:
            break
        values.append(value)
        behind = value.ranges[-1][1] + len(opening["quote"] or b"")
        comma = _NEXT_OF_LIST.match(text, behind)
        next_opening = _OPENING.match(text, comma.end()) if comma else None
        if not next_opening:
            break
        opening = next_opening
    return values


def _value(text: bytes, begin: int, quote: bytes | None) -> _Value:
    if quote:
        return _Value(tuple(_quoted(text, begin, quote)), quoted=True)
    stop = _bare_end(text, begin)
    return _Value(((begin, stop),) if stop > begin else (), quoted=False)


def _bare_end(text: bytes, begin: int) -> int:
    judged = text[begin : end_of(_BARE, text, begin)]
    end = _BARE_END.search(judged)
    return begin + (end.start() if end else len(judged))


def _whole(text: bytes, judged: Range) -> tuple[Range]:
    """Return the range of a bare value of which the front was judged."""
    begin, stop = judged
    is_whole = stop - begin < _BARE_JUDGED
    return ((begin, stop if is_whole else end_of(_BARE_WHOLE, text, begin)),)


def _quoted(text: bytes, begin: int, quote: bytes) -> list[Range]:
    stop = end_of(_quoted_content(quote), text, begin)
    if stop == begin:
        return []
    if text[stop : stop + len(quote)] == quote:
        return [(begin, stop)]
    return [(begin, stop), *_rest_of_quoted(text, stop, quote)]


@functools.cache
def _quoted_content(quote: bytes) -> re.Pattern[bytes]:
    """Return the pattern of what stands before the same quote with as many backslashes.

    It ends with the line where the quote is not closed.
    """
    if len(quote) == 1:
        return re.compile(rb"(?:[^" + quote + rb"\\\r\n]|\\[^\r\n])*+")
    return re.compile(rb"(?:(?!" + re.escape(quote) + rb")[^\r\n])*+")


def _rest_of_quoted(text: bytes, stop: int, quote: bytes) -> list[Range]:
    """Return the rest of a quoted value whose line was cut, if the next line begins with it."""
    line_end = LINE_END.match(text, stop)
    if not line_end:
        return []
    begin = line_end.end()
    end = end_of(_BARE, text, begin)
    return [(begin, end)] if end > begin and text[end : end + len(quote)] == quote else []


def _is_secret(name: _Name, certainty: int, value: bytes, found: _Value, text: bytes) -> bool:
    """Say whether the value is a secret, and no code, number, path, type or prose."""
    if value.startswith(_REFERENCE) or _SCHEME.match(value):
        return False
    if not name.is_password and _FEW_DIGITS.match(value):
        return False
    if name.may_be_path and _PATH.match(value) and not _is_base64(value):
        return False
    if not found.quoted and (_is_code(value, text, found) or _is_prose(name, value, text, found)):
        return False
    return _is_long_enough(name, certainty, value, quoted=found.quoted)


def _is_long_enough(name: _Name, certainty: int, value: bytes, *, quoted: bool) -> bool:
    if certainty == _ALWAYS:
        return quoted or name.is_password or len(value) >= _LEAST_ALWAYS
    if name.argument:
        return len(value) >= _LEAST_ARGUMENT and is_random(value)
    digits = value.replace(b".", b"").isdigit()
    return len(value) >= _LEAST_LIKELY and has_digit(value) and not digits


def _is_code(value: bytes, text: bytes, found: _Value) -> bool:
    behind = found.ranges[-1][1]
    return bool(_CODE.match(value)) or text[behind : behind + 1] in (b"(", b"[")


def _is_prose(name: _Name, value: bytes, text: bytes, found: _Value) -> bool:
    """Say whether a colon only introduces what is said: `password: authentication failed`."""
    spoken = name.colon and not name.text.isupper()
    return spoken and bool(_WORD.match(value)) and bool(_SPEAKS_ON.match(text, found.ranges[-1][1]))


def _is_base64(value: bytes) -> bool:
    """Say whether what has the form of a path has a part that no file name has."""
    return b"." not in value and any(
        len(part) >= _RANDOM_PART and has_digit(part) and has_both_cases(part)
        for part in _PATH_PART.split(value[:JUDGED])
    )
