"""Finds the spans to hide around a hit of a mask's anchor.

A finder looks at the text near a hit and at nothing else, so that the work is linear in the hits:
starts are known to a few bytes, names are read back over a bounded stretch, and what runs on without
bound (a token of a megabyte) is hidden whole and never looked at twice.

Python's `re` reads the spans, not RE2: measured on this engine's texts a look-up costs 0.6 µs against
4 to 6 µs, and an address in every line makes half a million of them. Each pattern here and in the data
files is matched at a fixed place, over bounded or possessive repeats of one class, so it cannot
backtrack beyond its bound.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from diagnosis.engine.addresses import hardware_addresses, hardware_identity, ip_v6

if TYPE_CHECKING:
    import mmap

    from diagnosis.engine.mask_files import Mask

__all__ = ["FINDERS", "Buffer", "Find", "Span"]

Buffer = "bytes | mmap.mmap"
# start, end, kind, and what the hidden value is known by: equal values get equal placeholders.
Span = tuple[int, int, str, bytes]
# (text, lowest offset to look at, end of the hit, least and most bytes back to the start) -> spans
Find = Callable[[bytes, int, int, int, int], list[Span]]

_NOTHING: list[Span] = []


# --- shapes and tokens --------------------------------------------------------------------------


def _shape(mask: Mask) -> Find:
    pattern = re.compile(mask.pattern.encode())
    groups = tuple(pattern.groupindex)
    check = _CHECKS[mask.check](mask) if mask.check else None

    def find(text: bytes, floor: int, end: int, least: int, most: int) -> list[Span]:
        for start in range(max(floor, end - most), end - least + 1):
            match = pattern.match(text, start)
            if match:
                break
        else:
            return _NOTHING
        spans = []
        for group in groups:
            value = match[group]
            if value and not _left_alone(value) and (check is None or check(value)):
                spans.append((*match.span(group), group.partition("_")[0], value))
        return spans

    return find


def _token(mask: Mask) -> Find:
    pattern = re.compile(mask.pattern.encode())
    body_run = re.compile(f"[{mask.body}]{{1,}}+".encode())
    least_body = mask.least

    def find(text: bytes, floor: int, end: int, least: int, most: int) -> list[Span]:
        for start in range(max(floor, end - most), end - least + 1):
            match = pattern.match(text, start)
            if match:
                break
        else:
            return _NOTHING
        body = match["body"]
        if len(body) < least_body:
            return _wrapped(text, match, body_run, least_body)
        if not _random(body) or _left_alone(body):
            return _NOTHING
        return [(*match.span(), mask.kind, match.group())]

    return find


def _wrapped(
    text: bytes, match: re.Match[bytes], body_run: re.Pattern[bytes], least: int
) -> list[Span]:
    """Return the two halves of a token that a terminal cut at the end of its line."""
    line_end = _LINE_END.match(text, match.end())
    rest = body_run.match(text, line_end.end()) if line_end else None
    if not rest or len(match["body"]) + len(rest.group()) < least:
        return _NOTHING
    identity = match.group() + rest.group()
    if not _random(match["body"] + rest.group()):
        return _NOTHING
    return [(*match.span(), "token", identity), (*rest.span(), "token", identity)]


_LINE_END = re.compile(rb"\r?\n|\r")

# Others' placeholders, and what stands in documentation where a secret would be.
_PLACEHOLDER = re.compile(
    rb"\*{3}|\.{3}|\xe2\x80\xa6|[xX]{5}|\A[<%${]|\A(?:\[|&lt;)|(?i:redacted|masked|your[_-])"
)
_HAS_DIGIT = re.compile(rb"\d")
_MIXED_CASE = re.compile(rb"[a-z].*[A-Z]|[A-Z].*[a-z]", re.DOTALL)
# Enough of a long value to judge it by.
_JUDGED = 256


def _left_alone(value: bytes) -> bool:
    """Say whether the value stands for a secret and is none."""
    return bool(_PLACEHOLDER.search(value[:_JUDGED])) or len(set(value[:_JUDGED])) <= 2 < len(value)


def _random(value: bytes) -> bool:
    """Say whether the value has what words lack: digits, or both cases."""
    judged = value[:_JUDGED]
    return bool(_HAS_DIGIT.search(judged) or _MIXED_CASE.search(judged))


def _check_random(_mask: Mask) -> Callable[[bytes], bool]:
    return lambda value: bool(_HAS_DIGIT.search(value[:_JUDGED])) and not value.isdigit()


def _check_not_a_number(_mask: Mask) -> Callable[[bytes], bool]:
    return lambda value: not value.isdigit()


def _check_person(mask: Mask) -> Callable[[bytes], bool]:
    services = mask.words["services"]
    file_name = re.compile(rb"\.(?:py|txt|log|json|ya?ml|sh|out|err|csv|html?|md|cfg|toml|ini|so|gz|zip)\Z")

    def is_person(value: bytes) -> bool:
        name = value.rstrip(b".")
        return bool(name) and name not in services and not file_name.search(name)

    return is_person


_CHECKS: Mapping[str, Callable[[Mask], Callable[[bytes], bool]]] = {
    "random": _check_random,
    "not_a_number": _check_not_a_number,
    "person": _check_person,
}


# --- private-key blocks -------------------------------------------------------------------------

_BLOCK_LINES = 4000
_FOREIGN_LINES = 8
_HEADER_REST = re.compile(rb"[A-Z0-9 ]{0,40}+-{0,5}+")
_LINE = re.compile(rb"[^\r\n]*+")
_INLINE_BODY = re.compile(rb"(?:\\++[nrt]|[ \t]|[A-Za-z0-9+/=])*+")
_RUN = re.compile(rb"[A-Za-z0-9+/=]++")
_TAIL = re.compile(rb"(?:\\++[nrt]|[\"',;+)\]\\\s])*+\Z")
_WHOLE_RUN = 16
_PREFIXED_RUN = 40


def _block(mask: Mask) -> Find:
    """Hide the body of a private key, line by line, and leave its first and last line."""

    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> list[Span]:
        if end < floor:
            return _NOTHING
        ranges = _block_ranges(text, _HEADER_REST.match(text, end).end())
        identity = b"".join(text[start:stop] for start, stop in ranges)
        return [(start, stop, mask.kind, identity) for start, stop in ranges]

    return find


def _block_ranges(text: bytes, start: int) -> list[tuple[int, int]]:
    """Return where the lines of a key's body stand, from the end of its first line on.

    Lines of others among them (ranks interleave) are passed over; the block ends at its last line,
    at the first line of another, or where nothing of a body has come for some lines.
    """
    ranges = _inline_ranges(text, start)
    position = _LINE.match(text, start).end()
    if ranges and b"-----END" in text[ranges[-1][1] : ranges[-1][1] + 32]:
        return ranges
    foreign, short = 0, None
    for _ in range(_BLOCK_LINES):
        line_end = _LINE_END.match(text, position)
        if not line_end or foreign > _FOREIGN_LINES:
            break
        begin = line_end.end()
        position = _LINE.match(text, begin).end()
        line = text[begin:position]
        if b"-----" in line or b"Private-MAC" in line:
            if short and (b"END" in line or b"Private-MAC" in line):
                ranges.append(short)
            break
        found = _body_run(line)
        if found is None:
            foreign += bool(line.strip())
            continue
        run = begin + found[0], begin + found[1]
        if found[2]:
            ranges.append(run)
            foreign, short = 0, None
        else:
            foreign += 1
            short = run
    return ranges


def _inline_ranges(text: bytes, start: int) -> list[tuple[int, int]]:
    """Return where the body stands in the key's first line: there whole, with escaped line ends."""
    body = _INLINE_BODY.match(text, start)
    runs = [run.span() for run in _RUN.finditer(text, start, body.end())] if body else []
    while runs and text[runs[0][0] - 1 : runs[0][0]] == b"\\":
        first_start, first_end = runs[0]
        runs[0] = (first_start + 1, first_end)
        if runs[0][0] < first_end:
            break
        runs.pop(0)
    if not runs or sum(end - begin for begin, end in runs) < _WHOLE_RUN:
        return []
    return [(runs[0][0], runs[-1][1])]


def _body_run(line: bytes) -> tuple[int, int, bool] | None:
    """Return the base64 at the end of a line, and whether it is surely a key's body."""
    stop = _TAIL.search(line).start() if len(line) < 4096 else len(line)
    run = None
    for each in _RUN.finditer(line, 0, stop):
        run = each
    if run is None or run.end() != stop:
        return None
    length = run.end() - run.start()
    whole = not line[: run.start()].strip(b" \t\"'bB>|")
    sure = length >= (_WHOLE_RUN if whole else _PREFIXED_RUN)
    return run.start(), run.end(), sure


# --- assignments --------------------------------------------------------------------------------

_NAME_REACH = 96
_NAME = re.compile(
    rb"(?<![\w.-])(?P<dashes>-{0,2}+)(?P<name>[\w.-]{1,90}+)(?P<closing>[\"'\\\])]{0,8}+)(?P<mark>[ \t]{0,3}+(?:[:=]|,[ \t]?[\"'\\])|[ \t])\Z"
)
_CAMEL = re.compile(rb"(?<=[a-z0-9])(?=[A-Z])")
_OPENING = re.compile(
    rb"=?>?[ \t]{0,8}+[\[(]?[ \t]{0,2}+(?:[bBuUrRfF]{1,2}+(?=[\"'\\]))?(?P<quote>\\{0,7}+[\"'`])?"
)
_BARE = re.compile(rb"[^\s\"'`<>]++")
_BARE_END = re.compile(rb"\\+[nrt](?![\w-]*\\)|[,;&|](?=[\s\w.\"'-]*[=:]|\Z)|[)\]},;.:\\]+\Z")
_CODE = re.compile(
    rb"[A-Za-z_][\w.]*[(\[]|(?:self|args|cfg|config|settings|os|env|conf|opts|options|kwargs|params)\b[.\[]"
    rb"|[a-z_][a-z_.]*(?:key|token|secret|password|passwd|pass|pwd|auth|credentials?)\Z",
)
_PATH = re.compile(rb"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.-]+(?:[/\\][\w.-]+)*[/\\]?\Z")
_FEW_DIGITS = re.compile(rb"[+-]?[\d.,_]{1,7}\Z")
_PROSE = re.compile(rb"[A-Za-z]{1,20}[.,;:!]?\Z")
_ALWAYS, _LIKELY = 2, 1


def _assignment(mask: Mask) -> Find:
    strength = functools.lru_cache(maxsize=4096)(functools.partial(_strength, mask.words))
    stand_ins = mask.words["values"]

    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> list[Span]:
        for back in (0, 1):
            name = _NAME.search(text, max(floor, end - _NAME_REACH, 0), end - back)
            if name:
                break
        else:
            return _NOTHING
        certainty = strength(name["name"])
        if not certainty:
            return _NOTHING
        opening = name.end() - (name["mark"][-1:] in b"\"'\\")
        ranges, quoted = _value(text, opening)
        identity = b"".join(text[start:stop] for start, stop in ranges)
        if not identity or _left_alone(identity):
            return _NOTHING
        if not _is_secret(identity, name, certainty, quoted, stand_ins, text, ranges[-1][1]):
            return _NOTHING
        kind = "password" if _is_password(name["name"]) else "token"
        return [(start, stop, kind, identity) for start, stop in ranges]

    return find


def _is_password(name: bytes) -> bool:
    lowered = name.lower()
    return b"pass" in lowered or lowered.endswith((b"pwd", b"pw"))


def _strength(words: Mapping[str, frozenset[bytes]], name: bytes) -> int:
    """Return how sure a name makes that its value is secret: `_ALWAYS`, `_LIKELY`, or 0."""
    snake = _CAMEL.sub(b"_", name).lower().replace(b"-", b"_").replace(b".", b"_")
    parts = snake.rstrip(b"0123456789").strip(b"_").split(b"_")
    tails = [b"_".join(parts[first:]) for first in range(max(0, len(parts) - 4), len(parts))]
    if any(tail in words["never"] for tail in tails if tail != b"pwd" or len(parts) == 1):
        return _LIKELY if name in (b"Pwd", b"pwd") else 0
    last = parts[-1].removesuffix(b"s") if parts[-1] != b"pass" else parts[-1]
    if last == b"token" and (b"_".join(parts[:-1]) in words["tokenizer"] or parts[-1] == b"tokens"):
        return 0
    if len(parts) > 1 and last == b"token" and parts[-2] in words["tokenizer"]:
        return 0
    singular = [*parts[:-1], last]
    tails += [b"_".join(singular[first:]) for first in range(max(0, len(singular) - 4), len(singular))]
    if any(tail in words["always"] for tail in tails):
        return _ALWAYS
    if last not in words["likely"]:
        return 0
    return _ALWAYS if len(parts) > 1 and name.isupper() else _LIKELY


def _value(text: bytes, start: int) -> tuple[list[tuple[int, int]], bool]:
    """Return where the assigned value stands (in two ranges if its line was cut), and if quoted."""
    opening = _OPENING.match(text, start)
    begin = opening.end()
    quote = opening["quote"]
    if quote:
        return _quoted(text, begin, quote), True
    bare = _BARE.match(text, begin)
    if not bare:
        return [], False
    end = _BARE_END.search(text[begin : bare.end()])
    stop = begin + end.start() if end else bare.end()
    return ([(begin, stop)] if stop > begin else []), False


def _quoted(text: bytes, begin: int, quote: bytes) -> list[tuple[int, int]]:
    line_stop = _LINE.match(text, begin).end()
    stop = _closing(text, begin, line_stop, quote)
    if stop >= 0:
        return [(begin, stop)] if stop > begin else []
    if line_stop == begin:
        return []
    return [(begin, line_stop), *_continued(text, line_stop, quote)]


def _closing(text: bytes, begin: int, line_stop: int, quote: bytes) -> int:
    """Return where the quote closes: one that is escaped once more belongs to the value."""
    found = text.find(quote, begin, line_stop)
    while found >= 0 and len(quote) == 1 and _escaped(text, begin, found):
        found = text.find(quote, found + 1, line_stop)
    return found


def _escaped(text: bytes, begin: int, position: int) -> bool:
    slashes = position
    while slashes > begin and text[slashes - 1 : slashes] == b"\\":
        slashes -= 1
    return (position - slashes) % 2 == 1


def _continued(text: bytes, line_stop: int, quote: bytes) -> list[tuple[int, int]]:
    """Return the rest of a quoted value whose line was cut, if the next line closes it."""
    line_end = _LINE_END.match(text, line_stop)
    if not line_end:
        return []
    begin = line_end.end()
    rest = _BARE.match(text, begin)
    if rest and text[rest.end() : rest.end() + len(quote)] == quote:
        return [rest.span()]
    return []


def _is_secret(
    value: bytes,
    name: re.Match[bytes],
    certainty: int,
    quoted: bool,
    stand_ins: frozenset[bytes],
    text: bytes,
    stop: int,
) -> bool:
    """Say whether the value of a name that speaks of secrets is one, and no code, type or prose."""
    lowered = value.lower()
    if lowered.strip(b"()[]{}.,:;!") in stand_ins or value.startswith((b"$", b"%", b"{", b"os.environ")):
        return False
    is_password = _is_password(name["name"])
    if not is_password and (_FEW_DIGITS.match(value) or (_PATH.match(value) and not _random_path(value))):
        return False
    if not quoted:
        if _CODE.match(value) or text[stop : stop + 1] in (b"(", b"["):
            return False
        spoken = name["mark"].strip() == b":" and not name["name"].isupper()
        if spoken and _PROSE.match(value) and _speaks_on(text, stop):
            return False
    if certainty == _ALWAYS:
        return quoted or is_password or len(value) > 3
    if name["dashes"] and not name["mark"].strip():
        return len(value) > 7 and _random(value)
    return len(value) >= 12 and bool(_HAS_DIGIT.search(value)) and not lowered.replace(b".", b"").isdigit()


def _random_path(value: bytes) -> bool:
    """Say whether what looks like a path is base64 instead: a long part with digits and both cases."""
    return any(
        len(part) >= 16 and _HAS_DIGIT.search(part) and _MIXED_CASE.search(part)
        for part in re.split(rb"[/\\]", value[:_JUDGED])
    ) and b"." not in value


_SPEAKS_ON = re.compile(rb"[ \t]+\w")


def _speaks_on(text: bytes, stop: int) -> bool:
    return bool(_SPEAKS_ON.match(text, stop))


# --- persons and machines -----------------------------------------------------------------------

_LOCAL_REACH = 66
_LOCAL = re.compile(rb"(?<![\w.%+\x80-\xff-])[\w.%+\x80-\xff-]{1,64}?(?:@|%40)\Z")
_DOMAIN = re.compile(rb"[A-Za-z0-9_\x80-\xff-]{1,63}+(?:\.[A-Za-z0-9_\x80-\xff-]{1,63}+)*+")
_TOP_LEVEL = re.compile(rb"(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59})\Z")
_DOTTED_QUAD = re.compile(rb"\d{1,3}(?:\.\d{1,3}){3}\Z")
_LOGIN_NAME = re.compile(rb"[A-Za-z_][\w.-]{0,31}\Z")
_LOGIN_BEHIND = re.compile(
    rb":[~/]|[ :]{1,2}[~/][^\r\n]{0,80}[$%#][ \r\n]|[^\r\n\]]{0,80}\][$#]|:? Permission denied|, work_dir"
)
_CODE_DOMAIN = re.compile(rb"(?:self|torch|np|tf|jax|nn|functools|pytest)\.|\d+\.\d")
_CODE_BEHIND = (b"(", b"[", b"@")


def _email(mask: Mask) -> Find:
    services, internal = mask.words["services"], mask.words["internal"]

    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> list[Span]:
        local = _LOCAL.search(text, max(floor, end - 1 - _LOCAL_REACH, 0), end - 1)
        domain = _DOMAIN.match(text, end - 1)
        if not local or not domain:
            return _NOTHING
        start = _behind_escape(text, local.start())
        name = text[start : local.end()].removesuffix(b"@").removesuffix(b"%40")
        host = domain.group()
        if not name.strip(b".-+%") or name in services:
            return _NOTHING
        if _is_login(name, host, text, domain.end()):
            return [(start, start + len(name), "user", name)]
        if not _is_mail_domain(host, internal) or text[domain.end() : domain.end() + 1] in _CODE_BEHIND:
            return _NOTHING
        return [(start, domain.end(), mask.kind, (name + b"@" + host).lower())]

    return find


def _behind_escape(text: bytes, start: int) -> int:
    """Return where a name begins whose first letter may belong to an escape (`\\nada`)."""
    escaped = start and text[start - 1 : start] == b"\\" and text[start : start + 1] in b"nrtbf"
    return start + 1 if escaped else start


def _is_login(name: bytes, host: bytes, text: bytes, behind: int) -> bool:
    if not _LOGIN_NAME.match(name):
        return False
    return bool(_DOTTED_QUAD.match(host) or _LOGIN_BEHIND.match(text, behind))


def _is_mail_domain(host: bytes, internal: frozenset[bytes]) -> bool:
    _, dot, top = host.rpartition(b".")
    if not dot or not _TOP_LEVEL.match(top) or top.lower() in internal:
        return False
    return not _CODE_DOMAIN.match(host)


_MAPPED_V4 = bytes(10) + b"\xff\xff"


def _ip_v6(mask: Mask) -> Find:
    def find(text: bytes, floor: int, end: int, least: int, _most: int) -> list[Span]:
        start = end - least
        found = ip_v6(text, start) if start >= floor else None
        if not found:
            return _NOTHING
        (begin, stop), packed = found
        if packed.startswith(_MAPPED_V4):
            # The same machine as the dotted form.
            packed = b"%d.%d.%d.%d" % tuple(packed[12:])
        return [(begin, stop, mask.kind, packed)]

    return find


def _mac(mask: Mask) -> Find:
    def find(text: bytes, floor: int, end: int, _least: int, _most: int) -> list[Span]:
        start = end - 16
        if start < max(floor, 0):
            return _NOTHING
        return [
            (begin, stop, mask.kind, hardware_identity(text[begin:stop]))
            for begin, stop in hardware_addresses(text, start)
        ]

    return find


FINDERS: Mapping[str, Callable[[Mask], Find]] = {
    "shape": _shape,
    "token": _token,
    "block": _block,
    "assignment": _assignment,
    "email": _email,
    "ip_v6": _ip_v6,
    "mac": _mac,
}
