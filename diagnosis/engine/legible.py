"""Is this a log at all? Said plainly, before anything is read into it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from diagnosis.engine.text import Text
from diagnosis.engine.unfolded import HEAD_MARKS

__all__ = ["TOO_LITTLE", "is_too_little", "why_unreadable"]

TOO_LITTLE = "This is too little to tell anything from: paste the end of the run's log."
# A shorter text in which nothing failed is no log.
_SHORTEST_LOG = 80

_SAMPLE_BYTES = 1 << 16
_LARGEST_CONTROL_SHARE = 0.1
# Text in an old encoding of Asia is no UTF-8 either, but has no control characters.
_LARGEST_SHARES_TOGETHER = (0.02, 0.2)
# Magic numbers of files that people take for logs: from the file formats' own descriptions.
_MAGIC = (
    (b"\x7fELF", "an ELF program"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"PK\x03\x04", "a ZIP archive (a .pt checkpoint is one)"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ", "xz-compressed data"),
    (b"(\xb5/\xfd", "zstd-compressed data"),
    (b"%PDF-", "a PDF document"),
    (b"GGUF", "a GGUF model"),
    (b"\x80\x02", "a Python pickle"),
    (b"SQLite format 3", "an SQLite database"),
)
_INK = re.compile(rb"\S")
_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\r\x0b\x0c\x1b\x00\x08")


def why_unreadable(texts: Sequence[Text]) -> str | None:
    """Return why none of the texts is a log, in a sentence; None where one of them may be."""
    reasons = [_reason(text) for text in texts]
    if not reasons:
        return "There is no text to read."
    return None if None in reasons else reasons[0]


def is_too_little(texts: Sequence[Text]) -> bool:
    """Say whether all the text together is shorter than a line or two of a log."""
    return sum(_length(text.data) for text in texts) < _SHORTEST_LOG


def _length(data: bytes) -> int:
    """Return how much text there is, counted from the first byte that shows."""
    first = _INK.search(data)
    return (
        0
        if first is None
        else len(data[first.start() : first.start() + 2 * _SHORTEST_LOG].rstrip())
    )


def _reason(text: Text) -> str | None:
    head = text.counted[:_SAMPLE_BYTES].translate(None, HEAD_MARKS)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return f"This is {kind}, not a log."
    if _INK.search(text.data) is None:
        return "There is no text to read."
    control = len(head) - len(head.translate(None, _CONTROL))
    if control > len(head) * _LARGEST_CONTROL_SHARE or _is_noise(head, control):
        return "This is binary data, not a log."
    return None


def _is_noise(head: bytes, control: int) -> bool:
    """Say whether control characters stand among bytes that are no UTF-8."""
    share_of_control, share_of_others = _LARGEST_SHARES_TOGETHER
    if control <= len(head) * share_of_control:
        return False
    return head.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}") > (
        len(head) * share_of_others
    )
