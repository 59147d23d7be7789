r"""What copying did to a text, undone: typeset quotes and blanks, HTML entities, colours, escapes.

Forums typeset quotes, web pages give no-break blanks and entities, consoles lose the escape
character of a colour, and a string printed as such has `\n` for each line's end. No line feed is
gained or lost: a carriage return ends lines that no line feed ended in the file.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from itertools import islice

__all__ = ["as_printed", "without_escaped_ends"]

# What was copied shows it all along; of a large text the ends are looked at.
_SAMPLE_BYTES = 1 << 18
_PLAIN: Mapping[bytes, bytes] = {
    **{character.encode(): b"'" for character in "\u2018\u2019\u201a\u201b"},
    **{character.encode(): b'"' for character in "\u201c\u201d\u201e\u201f"},
    **{chr(code).encode(): b" " for code in (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)},
    **{character.encode(): b"" for character in "\u200b\u200c\u2060\ufeff"},
}
# At the very front U+FEFF is the mark of an encoding.
_TYPESET = re.compile(rb"(?!\A\xef\xbb\xbf)(?:" + b"|".join(map(re.escape, _PLAIN)) + rb")")
# `&reg` in an address is none: only what ends as an entity does, and no line feed among them.
_ENTITY = re.compile(rb"&(?:lt|gt|quot|apos|nbsp|amp|#34|#39|#x22|#x27);")
# Marks that a page would have had to write as entities; masking writes `<ip-1>` into any text.
_BARE_MARK = re.compile(rb"<(?![a-z]+-\d+>)")
_FEWEST_ENTITIES = 3
# ECMA-48 8.3.117, SGR: styles and colours, and what resets them.
_STYLE = rb"(?:0?\d|2[1-9]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|[34]8;(?:5;\d{1,3}|2(?:;\d{1,3}){3}))"
_COLOUR = re.compile(rb"(?<!\x1b)\[" + _STYLE + rb"(?:;" + _STYLE + rb")*m")
_RESET = re.compile(rb"(?<!\x1b)\[(?:0|00|39)m")
_FEWEST_COLOURS = 3
_ESCAPED = re.compile(rb'\\(?:r\\n|[ntr"\'])')
_ESCAPES: Mapping[bytes, bytes] = {
    b"\\n": b"\r",
    b"\\r\\n": b"\r",
    b"\\r": b"\r",
    b"\\t": b"\t",
    b'\\"': b'"',
    b"\\'": b"'",
}
_FEWEST_ENDS = 5
_ENDS_A_LINE = 4


def as_printed(data: bytes) -> bytes:
    """Return the text as it was printed; the same object where nothing shows that it was copied."""
    for mend in (_unescaped_html, _untypeset, _uncoloured):
        data = mend(data)
    return data


def without_escaped_ends(data: bytes) -> bytes:
    r"""Return a text that is one string, with `\n` for each line's end, as lines.

    The same object where most lines end as lines do.
    """
    sample = _ends_of(data)
    escaped = sample.count(b"\\n")
    if escaped < _FEWEST_ENDS or escaped < _ENDS_A_LINE * sample.count(b"\n"):
        return data
    return _ESCAPED.sub(_by(_ESCAPES), data)


def _unescaped_html(data: bytes) -> bytes:
    sample = _ends_of(data)
    if not _occurs(_ENTITY, sample, _FEWEST_ENTITIES) or _BARE_MARK.search(sample):
        return data
    return _ENTITY.sub(lambda found: html.unescape(found[0].decode()).encode(), data)


def _untypeset(data: bytes) -> bytes:
    if not _occurs(_TYPESET, _ends_of(data), 1):
        return data
    return _TYPESET.sub(_by(_PLAIN), data)


def _uncoloured(data: bytes) -> bytes:
    sample = _ends_of(data)
    if not _occurs(_RESET, sample, 1) or not _occurs(_COLOUR, sample, _FEWEST_COLOURS):
        return data
    return _COLOUR.sub(b"", data)


def _occurs(pattern: re.Pattern[bytes], text: bytes, times: int) -> bool:
    """Say whether a pattern is found in a text so many times; looks no further."""
    return sum(1 for _ in islice(pattern.finditer(text), times)) == times


def _by(table: Mapping[bytes, bytes]) -> Callable[[re.Match[bytes]], bytes]:
    return lambda found: table[found[0]]


def _ends_of(data: bytes) -> bytes:
    if len(data) <= 2 * _SAMPLE_BYTES:
        # A memory map has no `count`; a copy of bytes is no copy.
        return data[:]
    return data[:_SAMPLE_BYTES] + b"\n" + data[-_SAMPLE_BYTES:]
