"""Finds secrets by the name they are assigned to: in environments, JSON, YAML, code, arguments.

The hit of the anchor ends behind the name, at the separator. The name is read back from there, the
words of the data file say how sure it makes, and the value is read forward.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diagnosis.engine.mask_spans import (
    JUDGED,
    NOTHING,
    Find,
    Found,
    has_both_cases,
    has_digit,
    is_placeholder,
    is_random,
)
from diagnosis.engine.mask_values import BareEnds, Setting, Value, values, whole

if TYPE_CHECKING:
    from diagnosis.engine.mask_files import Mask

__all__ = ["assignment"]

# How sure a name makes that its value is a secret.
_NEVER, _LIKELY, _ALWAYS = 0, 1, 2

_NAME_REACH = 96
# Read backwards from the hit: what stands last in the text stands first here.
_NAME_BACKWARDS = re.compile(
    rb"(?P<mark>[:=][ \t]{0,3}+|[\"'\\][ \t]?,[ \t]{0,3}+|[Dd]3%|[ \t])"
    rb"(?P<closing>(?:[\])]{0,2}+[\"'\\]{1,8}+)?+)(?P<name>[\w.-]{1,90}+)"
)
_ENCODED_MARK = b"%3D"
_SETTING_REACH = 24
_QUOTE_BEFORE = re.compile(rb"\\{0,7}[\"']\Z")
_LINE_BEFORE = re.compile(rb"[\r\n][ \t]{0,8}(?:export |declare -x |setenv |set |ENV )?\Z")
# `name: DB_PASSWORD` before `value:`, in the same line or the line before, as Kubernetes writes.
_PAIR_REACH = 200
_PAIRED_NAME = re.compile(
    rb"\bname[\"'\\]{0,4}[ \t]?[:=][ \t]{0,4}[\"'\\]{0,4}(?P<name>[\w.-]{1,90}+)"
    rb"[\"'\\]{0,4},?\s{0,60}(?:- )?[\"'\\]{0,4}\Z"
)
_PAIR_VALUE = b"value"
_CAMEL_HUMP = re.compile(rb"(?<=[a-z0-9])(?=[A-Z])")
_NAME_PARTS = 4

# What is no value: code that fetches one, a path of a file that holds one, a number, a word.
_CODE = re.compile(
    rb"[A-Za-z_][\w.]*[(\[]"
    rb"|(?:self|args|cfg|config|settings|os|env|conf|opts|options|kwargs|params)\b[.\[]"
    rb"|[a-z_][a-z_.]*(?:key|token|secret|password|passwd|pass|pwd|auth|credentials?)\Z"
    rb"|[A-Za-z_]\w*\.[\w.]*(?:key|token|secret|password|passwd)\Z|#"
)
_PATH = re.compile(rb"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.-]+(?:[/\\][\w.-]+)*[/\\]?\Z")
_PATH_PART = re.compile(rb"[/\\]")
_RANDOM_PART = 16
_FEW_DIGITS = re.compile(rb"[+-]?[\d.,_]{1,7}\Z")
_WORD = re.compile(rb"[A-Za-z]{1,20}[.,;:!]?\Z")
_SPEAKS_ON = re.compile(rb"[ \t]+\w")
_DIRECTORIES = (b"pwd",)
_AROUND_WORDS = b"()[]{}.,:;!"
_REFERENCE = (b"$", b"%", b"{", b"os.environ")
# What follows has a mask of its own, which leaves the scheme.
_SCHEME = re.compile(rb"(?i:bearer|basic|token|digest|bot|apikey|negotiate)(?:[ \t]|%20|\Z)")
_LEAST_ALWAYS, _LEAST_ARGUMENT, _LEAST_LIKELY = 4, 8, 12


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a name alone tells of its value.

    How sure it makes that this is a secret; whether it is a password, which may have any form;
    whether it may as well be a path: of a file that holds one, or the shell's directory; and
    whether it is in capitals, as in an environment.
    """

    certainty: int
    capitals: bool
    password: bool
    may_be_path: bool


@dataclass(frozen=True, slots=True)
class _Name:
    """The name of an assignment; an `argument` of a command line has its value behind a blank."""

    meaning: _Meaning
    argument: bool
    colon: bool
    setting: Setting


def assignment(mask: Mask) -> Find:
    """Return the finder of assignments in one text; `words` of the mask are the policy."""
    meaning_of = functools.lru_cache(maxsize=4096)(functools.partial(_meaning, mask.words))
    stand_ins = mask.words["values"]
    ends = BareEnds()

    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> Found:
        read = _read_name(text, floor, end, meaning_of)
        if read is None:
            return NOTHING
        name, begin = read
        kind = "password" if name.meaning.password else "token"
        spans = []
        for value in values(text, begin, name.setting, ends):
            identity = value.of(text)
            if not identity or identity.lower().strip(_AROUND_WORDS) in stand_ins:
                continue
            if not is_placeholder(identity) and _is_secret(name, identity, value, text):
                spans += [(start, stop, kind, identity) for start, stop in whole(text, value)]
        return spans, spans[-1][1] if spans else 0

    return find


# --- names --------------------------------------------------------------------------------------


def _read_name(
    text: bytes, floor: int, end: int, meaning_of: Callable[[bytes], _Meaning]
) -> tuple[_Name, int] | None:
    """Return the name before the hit and where its value begins; None where it is no secret's."""
    match = _NAME_BACKWARDS.match(text[max(floor, end - _NAME_REACH, 0) : end][::-1])
    if not match:
        return None
    mark, written = match["mark"][::-1], match["name"][::-1]
    name, start = written.lstrip(b"-"), end - match.end()
    if name.lower() == _PAIR_VALUE:
        pair = _PAIRED_NAME.search(text, max(floor, start - _PAIR_REACH, 0), start)
        name = pair["name"] if pair else b""
    if not name or not _separates(mark, written, text[max(0, start - 2) : start]):
        return None
    meaning = meaning_of(name)
    if meaning.certainty == _NEVER:
        return None
    found = _Name(
        meaning,
        argument=written.startswith(b"-") and not mark.strip(),
        colon=mark.strip() == b":",
        setting=_setting(text, start, mark, meaning, joined=not match["closing"]),
    )
    # Behind a comma the hit ends in the opening quote of the next argument.
    return found, end - (mark[-1:] in (b'"', b"'", b"\\"))


def _separates(mark: bytes, written: bytes, before: bytes) -> bool:
    """Say whether a comma stands between a name and its value, and not between two of a list.

    It does behind an argument of a command line, and in the pairs of an environment.
    """
    if not mark.startswith(b","):
        return True
    return written.startswith(b"-") or (written.isupper() and before[:1] == b"(")


def _setting(text: bytes, start: int, mark: bytes, meaning: _Meaning, *, joined: bool) -> Setting:
    """Return what surrounds a name that begins at `start`; `joined`: no quote closes behind it."""
    if mark.upper() == _ENCODED_MARK:
        return Setting(encoded=True)
    if mark != b"=" or not joined:
        return Setting()
    before = text[max(0, start - _SETTING_REACH) : start]
    if not meaning.capitals:
        return Setting(words=meaning.password)
    quote = _QUOTE_BEFORE.search(before)
    if quote:
        return Setting(quote=quote.group())
    own_line = _LINE_BEFORE.search(b"\n" + before if start < _SETTING_REACH else before)
    return Setting(own_line=bool(own_line), words=meaning.password)


def _meaning(words: Mapping[str, frozenset[bytes]], name: bytes) -> _Meaning:
    """Return what a name tells of its value, by the words of the data file."""
    lowered = name.lower()
    password = b"pass" in lowered or lowered.endswith((b"pwd", b"pw"))
    directory = lowered.endswith(_DIRECTORIES)
    return _Meaning(
        certainty=_strength(words, name),
        capitals=name.isupper(),
        password=password,
        may_be_path=directory or not (password or b"secret" in lowered),
    )


def _strength(words: Mapping[str, frozenset[bytes]], name: bytes) -> int:
    """Return how sure a name makes that its value is secret."""
    parts = _parts(name)
    tails = [
        b"_".join(parts[first:]) for first in range(max(0, len(parts) - _NAME_PARTS), len(parts))
    ]
    if any(tail in words["never"] for tail in tails):
        return _NEVER
    last = parts[-1]
    if last == b"token" and any(
        b"_".join(parts[:-1][-count:]) in words["tokenizer"] for count in (1, 2)
    ):
        return _NEVER
    if any(tail in words["always"] for tail in tails) or last.endswith(tuple(words["endings"])):
        return _ALWAYS
    if last in words["likely"]:
        of_environment = name.isupper() and (len(parts) > 1 or last == b"token")
        return _ALWAYS if of_environment else _LIKELY
    return _ALWAYS if name.isupper() and last.endswith((b"token", b"apikey")) else _NEVER


def _parts(name: bytes) -> list[bytes]:
    """Return the words of a name in small letters, without numbers and the s of a plural."""
    snake = _CAMEL_HUMP.sub(b"_", name).lower().replace(b"-", b"_").replace(b".", b"_")
    *parts, last = snake.rstrip(b"0123456789").strip(b"_").split(b"_")
    plural = last.endswith(b"s") and not last.endswith((b"ss", b"tokens"))
    return [*parts, last[:-1] if plural else last]


# --- values -------------------------------------------------------------------------------------


def _is_secret(name: _Name, value: bytes, found: Value, text: bytes) -> bool:
    """Say whether the value is a secret, and no code, number, path, type or prose."""
    if value.startswith(_REFERENCE) or _SCHEME.match(value):
        return False
    if not name.meaning.password and _FEW_DIGITS.match(value):
        return False
    if name.meaning.may_be_path and _PATH.match(value) and not _is_base64(value):
        return False
    if not found.quoted and (_is_code(value, text, found) or _is_prose(name, value, text, found)):
        return False
    return _is_long_enough(name, value, quoted=found.quoted)


def _is_long_enough(name: _Name, value: bytes, *, quoted: bool) -> bool:
    if name.meaning.certainty == _ALWAYS:
        return quoted or name.meaning.password or len(value) >= _LEAST_ALWAYS
    if name.argument:
        return len(value) >= _LEAST_ARGUMENT and is_random(value)
    digits = value.replace(b".", b"").isdigit()
    return len(value) >= _LEAST_LIKELY and has_digit(value) and not digits


def _is_code(value: bytes, text: bytes, found: Value) -> bool:
    behind = found.ranges[-1][1]
    return bool(_CODE.match(value)) or text[behind : behind + 1] in (b"(", b"[")


def _is_prose(name: _Name, value: bytes, text: bytes, found: Value) -> bool:
    """Say whether a colon only introduces what is said: `password: authentication failed`."""
    spoken = name.colon and not name.meaning.capitals
    return spoken and bool(_WORD.match(value)) and bool(_SPEAKS_ON.match(text, found.ranges[-1][1]))


def _is_base64(value: bytes) -> bool:
    """Say whether what has the form of a path has a part that no file name has."""
    return b"." not in value and any(
        len(part) >= _RANDOM_PART and has_digit(part) and has_both_cases(part)
        for part in _PATH_PART.split(value[:JUDGED])
    )
