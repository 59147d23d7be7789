r"""Records unfolded: the message of a line that is one JSON object becomes lines of text.

A record escapes quotes and line feeds, so that no pattern would find what its message says. Each
line of the message becomes a line of its own, behind a head that keeps what the record tells of its
source. A carriage return ends those that no line feed ended in the file, so that they are lines and
the numbers of lines stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from diagnosis.engine.records import Opened, RecordKeys, read_record

__all__ = ["HEAD", "HEAD_MARKS", "read_head", "shape_of", "unfold", "without_head"]

# The ASCII unit separator stands at either end of a head, the record separator between what it
# tells; no logger prints them.
HEAD = b"\x1f"
_BETWEEN = b"\x1e"
HEAD_MARKS = HEAD + _BETWEEN
_HEAD = re.compile(rb"\x1f(?P<told>[^\x1f\n]*)\x1f")
_PLAIN = bytes.maketrans(b"\n\r\x1e\x1f", b"    ")
_BRACE = b"{"
_OPENING = re.compile(rb'\{ ?"')
_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
# What stands before a record is a prefix or two; a longer record is a document.
_LONGEST_PREFIX = 256
_LONGEST_RECORD = 1 << 20
_DIGITS = bytes.maketrans(b"123456789", b"000000000")


def unfold(data: bytes, keys: RecordKeys, is_prefix: Callable[[bytes], bool]) -> bytes:
    """Return `data` with its records unfolded; the same object where there are none.

    `is_prefix` says of what stands before a record whether it is an envelope.
    """
    # To see that a byte is nowhere takes a fifth of the time of a search for what it begins.
    if _BRACE not in data:
        return data
    prefixes = {b"": True}
    pieces: list[bytes] = []
    written = position = 0
    while (opening := _OPENING.search(data, position)) is not None:
        start = data.rfind(b"\n", 0, opening.start()) + 1
        end = data.find(b"\n", opening.end())
        end = len(data) if end < 0 else end
        position = end
        prefix = data[start : opening.start()]
        opened = _opened(data[opening.start() : end], keys)
        if opened is None or len(prefix) > _LONGEST_PREFIX:
            continue
        shape = shape_of(prefix)
        if shape not in prefixes:
            prefixes[shape] = is_prefix(prefix)
        if prefixes[shape]:
            front = prefix + _head(opened)
            lines = (front + line for line in _LINE_ENDS.split(opened.message))
            pieces += (data[written:start], b"\r".join(lines))
            written = end
    return b"".join((*pieces, data[written:])) if pieces else data


def shape_of(prefix: bytes) -> bytes:
    """Return what does not change of a prefix from line to line: stamps and counters do."""
    return prefix.translate(_DIGITS)


def _opened(record: bytes, keys: RecordKeys) -> Opened | None:
    if len(record) > _LONGEST_RECORD or not record.rstrip().endswith(b"}"):
        return None
    return read_record(keys, record)


def _head(opened: Opened) -> bytes:
    told = [name.encode() + b"=" + value.translate(_PLAIN) for name, value in opened.fields.items()]
    rank = opened.fields.get("rank", b"")
    # As torch marks a rank's lines: what looks for a rank's lines finds these.
    mark = [b"[rank%b]" % rank] if rank.isdigit() else []
    return HEAD + _BETWEEN.join((*mark, *told)) + HEAD


def read_head(text: bytes, start: int) -> tuple[dict[str, bytes], int] | None:
    """Return what the head at `start` tells and where it ends; None where there is none."""
    found = _HEAD.match(text, start)
    if found is None:
        return None
    parts = (part.partition(b"=") for part in found["told"].split(_BETWEEN))
    return {
        name.decode("ascii", "replace"): value for name, mark, value in parts if mark
    }, found.end()


def without_head(line: bytes) -> bytes:
    """Return a line as it is shown to people."""
    return _HEAD.sub(b"", line, count=1) if HEAD in line else line
