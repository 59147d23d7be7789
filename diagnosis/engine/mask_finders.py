"""Finds the spans to hide around a hit of a mask's anchor.

A finder looks at the text near a hit and at nothing else, so that the work is linear in the hits:
starts are known to a few bytes, names are read back over a bounded stretch, and what runs on
without bound (a token of a megabyte) is hidden whole and never looked at twice.

Python's `re` reads the spans, not RE2: measured on logs of this kind a look-up costs 0.6 µs against
4 to 6 µs, an address in every line makes half a million of them, and what may stand beside a secret
is best said by looking behind. Each pattern here and in the data files is matched at a fixed place,
over bounded or possessive repeats of one class, so it cannot backtrack beyond its bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from diagnosis.engine.addresses import hardware_addresses, hardware_identity, ip_v6
from diagnosis.engine.mask_assignments import assignment
from diagnosis.engine.mask_key_blocks import key_block
from diagnosis.engine.mask_spans import (
    LINE_END,
    NOTHING,
    Find,
    Found,
    Span,
    has_digit,
    is_placeholder,
    is_random,
)

if TYPE_CHECKING:
    from diagnosis.engine.mask_files import Mask

__all__ = ["CHECKS", "FINDERS"]

_Check = Callable[[bytes], bool]


# --- shapes and tokens --------------------------------------------------------------------------


def _shape(mask: Mask) -> Find:
    """Return the finder of what `pattern` captures; the names of its groups are the kinds."""
    pattern = re.compile(mask.pattern.encode())
    groups = tuple((group, group.partition("_")[0]) for group in pattern.groupindex)
    check = CHECKS[mask.check](mask)

    def find(text: bytes, floor: int, end: int, least: int, most: int) -> Found:
        match = _match_before(pattern, text, max(floor, end - most), end - least)
        if not match:
            return NOTHING
        spans = [
            (*match.span(group), kind, match[group])
            for group, kind in groups
            if match[group] and check(match[group])
        ]
        return spans, match.end()

    return find


def _token(mask: Mask) -> Find:
    """Return the finder of tokens with an issuer's prefix, also where a terminal cut their line."""
    pattern = re.compile(mask.pattern.encode())
    rest_of_body = re.compile(f"[{mask.body}]++".encode())
    # Only among letters of both cases do words occur, which a token is to be told from.
    may_be_word = "a-z" in mask.body and "A-Z" in mask.body

    def find(text: bytes, floor: int, end: int, least: int, most: int) -> Found:
        match = _match_before(pattern, text, max(floor, end - most), end - least)
        if not match:
            return NOTHING
        body, ranges = match["body"], [match.span()]
        if len(body) < mask.least:
            rest = _in_next_line(rest_of_body, text, match.end())
            if not rest or len(body) + len(rest.group()) < mask.least:
                return [], match.end()
            body += rest.group()
            ranges.append(rest.span())
        if is_placeholder(body) or (may_be_word and not is_random(body)):
            return [], match.end()
        identity = match["prefix"] + body
        return [(start, stop, mask.kind, identity) for start, stop in ranges], match.end()

    return find


def _match_before(
    pattern: re.Pattern[bytes], text: bytes, first: int, last: int
) -> re.Match[bytes] | None:
    """Return the first match that begins at one of the offsets from `first` to `last`."""
    for start in range(first, last + 1):
        match = pattern.match(text, start)
        if match:
            return match
    return None


def _in_next_line(pattern: re.Pattern[bytes], text: bytes, position: int) -> re.Match[bytes] | None:
    """Return the match at the start of the next line, if a line ends at `position`."""
    line_end = LINE_END.match(text, position)
    return pattern.match(text, line_end.end()) if line_end else None


# --- checks of what a shape captured ------------------------------------------------------------

_FILE_NAME = re.compile(
    rb"\.(?:py|txt|log|json|ya?ml|sh|out|err|csv|html?|md|cfg|toml|ini|so|gz|zip)\Z"
)


def _is_no_placeholder(_mask: Mask) -> _Check:
    return lambda value: not is_placeholder(value)


def _is_no_word(_mask: Mask) -> _Check:
    return lambda value: has_digit(value) and not value.isdigit() and not is_placeholder(value)


def _is_no_number(_mask: Mask) -> _Check:
    return lambda value: not value.isdigit() and not is_placeholder(value)


def _is_person(mask: Mask) -> _Check:
    """Return the check for names of persons: not those that all machines have, nor of files."""
    services = mask.words["services"]

    def check(value: bytes) -> bool:
        name = value.rstrip(b".")
        if not name or name in services or name.isdigit():
            return False
        return not _FILE_NAME.search(name) and not is_placeholder(name)

    return check


CHECKS: Mapping[str, Callable[[Mask], _Check]] = {
    "": _is_no_placeholder,
    "no_word": _is_no_word,
    "no_number": _is_no_number,
    "person": _is_person,
}


# --- mail addresses and logins ------------------------------------------------------------------

_LOCAL_REACH = 70
# Read backwards from the @: what stands last in the text stands first here.
_LOCAL_BACKWARDS = re.compile(
    rb"(?P<at>@|04%)(?P<name>[\w.%+\x80-\xff-]{1,64}+)(?![\w.%+\x80-\xff-])"
)
_LABEL = rb"[A-Za-z0-9_\x80-\xff-]{1,63}+"
_DOMAIN = re.compile(_LABEL + rb"(?:\." + _LABEL + rb")*+")
_TOP_LEVEL = re.compile(rb"(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59})\Z")
_DOTTED_QUAD = re.compile(rb"\d{1,3}(?:\.\d{1,3}){3}\Z")
_LOGIN_NAME = re.compile(rb"[A-Za-z_][\w.-]{0,31}\Z")
# Behind user@host: a path or a home of scp, a prompt, ssh's complaint, mmengine's next field.
_LOGIN_BEHIND = re.compile(
    rb":[~/]|[ :]{1,2}[~/][^\r\n]{0,80}[$%#][ \r\n]|[^\r\n\]]{0,80}\][$#]"
    rb"|:? Permission denied|, work_dir"
)
_URL_REACH = 80
_IN_URL = re.compile(rb"://(?P<before>[^\s/@\"']*)\Z")
_CODE_DOMAIN = re.compile(rb"(?:self|torch|np|tf|jax|nn|functools|pytest)\.|\d+\.\d")
_CODE_BEHIND = (b"(", b"[", b"@")
_ESCAPES = (b"n", b"r", b"t", b"b", b"f")


def _email_or_login(mask: Mask) -> Find:
    """Return the finder of mail addresses, hidden whole, and of logins, whose host stays."""

    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> Found:
        domain = _DOMAIN.match(text, end - 1)
        sort = _sort_of_host(mask.words, domain.group(), text, domain.end()) if domain else ""
        local = _local_part(text, floor, end) if sort else None
        if not domain or not local:
            return NOTHING
        start, name = local
        if not name.strip(b".-+%_") or name in mask.words["services"]:
            return NOTHING
        in_url = _IN_URL.search(text, max(0, start - _URL_REACH), start)
        if in_url and in_url["before"]:
            return NOTHING
        if in_url or sort == "login":
            return _login(name, start)
        return [
            (start, domain.end(), mask.kind, (name + b"@" + domain.group()).lower())
        ], domain.end()

    return find


def _sort_of_host(
    words: Mapping[str, frozenset[bytes]], host: bytes, text: bytes, behind: int
) -> str:
    """Return whose host stands behind an @: that of a "login", of a "mail" address, or ""."""
    _, dot, top = host.rpartition(b".")
    if _DOTTED_QUAD.match(host) or top.lower() in words["internal"]:
        return "login"
    if _LOGIN_BEHIND.match(text, behind):
        return "login"
    if not dot or not _TOP_LEVEL.match(top) or top.lower() in words["files"]:
        return ""
    is_code = _CODE_DOMAIN.match(host) or text[behind : behind + 1] in _CODE_BEHIND
    return "" if is_code else "mail"


def _login(name: bytes, start: int) -> Found:
    if not _LOGIN_NAME.match(name):
        return NOTHING
    end = start + len(name)
    return [(start, end, "user", name)], end


def _local_part(text: bytes, floor: int, end: int) -> tuple[int, bytes] | None:
    """Return where the name before the @ begins, and the name, without the letter of an escape."""
    local = _LOCAL_BACKWARDS.match(text[max(floor, end - 1 - _LOCAL_REACH, 0) : end - 1][::-1])
    if not local:
        return None
    start, name = end - 1 - local.end(), local["name"][::-1]
    escaped = start and text[start - 1 : start] == b"\\" and name[:1] in _ESCAPES
    return (start + 1, name[1:]) if escaped else (start, name)


# --- machines -----------------------------------------------------------------------------------

_MAPPED_V4 = bytes(10) + b"\xff\xff"


def _ip_v6(mask: Mask) -> Find:
    def find(text: bytes, floor: int, end: int, least: int, _most: int) -> Found:
        start = end - least
        found = ip_v6(text, start) if start >= floor else None
        if not found:
            return NOTHING
        (begin, stop), packed = found
        if packed.startswith(_MAPPED_V4):
            # The same machine as the dotted form.
            packed = b"%d.%d.%d.%d" % tuple(packed[12:])
        return [(begin, stop, mask.kind, packed)], stop

    return find


# From the start of six pairs to the first digit of the last.
_FIVE_PAIRS = 16


def _mac(mask: Mask) -> Find:
    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> Found:
        start = end - _FIVE_PAIRS
        if start < floor:
            return NOTHING
        ranges, reached = hardware_addresses(text, start)
        spans: list[Span] = [
            (begin, stop, mask.kind, hardware_identity(text[begin:stop])) for begin, stop in ranges
        ]
        return spans, reached

    return find


FINDERS: Mapping[str, Callable[[Mask], Find]] = {
    "shape": _shape,
    "token": _token,
    "key_block": key_block,
    "assignment": assignment,
    "email_or_login": _email_or_login,
    "ip_v6": _ip_v6,
    "mac": _mac,
}
