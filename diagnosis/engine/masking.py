"""Masking: secrets and personal details are replaced before a log is queued, stored or shown.

`mask` takes the files of a paste and gives them back with placeholders (`<ip-1>`, `<token-2>`). The
same value has the same placeholder in all files, line numbers stay, and host names stay, since the
answer is about them. What is hidden stands in the data files of `masks/`, where its span begins and
ends in `mask_finders` and its neighbours.

One Hyperscan pass finds candidates; the text is looked at only around them, and the output is
joined from slices. Any bytes go in. Masking what is masked already changes nothing.
"""

from __future__ import annotations

import codecs
import functools
import io
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

from diagnosis.engine.mask_files import KINDS, Mask, load_masks
from diagnosis.engine.mask_finders import FINDERS
from diagnosis.engine.mask_search import Search, Spread
from diagnosis.engine.mask_spans import Find, Range, Span
from diagnosis.engine.scanner import Scanner
from diagnosis.engine.text import ANSI, LogFile

__all__ = ["Mask", "Masked", "Masker", "Replacement", "anchors", "load_masks", "mask"]

# A secret is one secret, whether it was found as a password or as a token.
_FAMILIES = {kind: kind for kind in KINDS} | dict.fromkeys(("password", "token", "key"), "secret")
_PLACEHOLDER = re.compile(rb"<(?:" + "|".join(KINDS).encode() + rb")-\d{1,9}>")
# What the engine does not see, and what may tear a secret apart: colour codes and NUL bytes.
# (A literal at the front lets `re` skip to it; a repeat would not.)
_NULS = re.compile(rb"\x00\x00*+")
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_COUNTED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Replacement:
    """What was replaced, told without the value: its owner finds it by file and line.

    `line` is the line of its first appearance, counted from 1; `count` counts its appearances in
    all files.
    """

    placeholder: str
    kind: str
    file: str
    line: int
    count: int


@dataclass(frozen=True, slots=True)
class Masked:
    """The masked files in the order in which they came, and what was replaced, first come first."""

    logs: tuple[LogFile, ...]
    replacements: tuple[Replacement, ...]


def mask(logs: Sequence[LogFile], masker: Masker | None = None) -> Masked:
    """Return `logs` with secrets and personal details replaced; takes any bytes and never fails.

    A file in which nothing is found comes back as it is. `masker` defaults to the masks of the data
    files, compiled once a process.
    """
    return (masker or _masker_of_data_files()).mask(logs)


@functools.cache
def _masker_of_data_files() -> Masker:
    return Masker(load_masks())


def anchors(masks: Iterable[Mask]) -> list[bytes]:
    """Return the Hyperscan patterns of the masks, in the order in which a Masker expects them."""
    return [anchor.encode() for each in masks for anchor, _, _ in each.anchors]


class Masker:
    """Compiled masks, safe to share between threads.

    What a cache should keep of it: `masks`, which pickle, and `scanner.to_bytes()`.
    """

    def __init__(self, masks: Sequence[Mask], scanner: Scanner | None = None) -> None:
        """Take masks and the scanner of their `anchors`, which is compiled if it is None."""
        self.masks = tuple(masks)
        self.scanner = scanner or Scanner(anchors(masks))
        self.owners = [each for each in masks for _ in each.anchors]
        self.reaches = [(least, most) for each in masks for _, least, most in each.anchors]
        self._finders: dict[str, Find] = {}

    def finder(self, owner: Mask) -> Find:
        """Return the finder of a mask, made when it is first needed."""
        finder = self._finders.get(owner.id)
        if finder is None:
            finder = self._finders[owner.id] = FINDERS[owner.finder](owner)
        return finder

    def mask(self, logs: Sequence[LogFile]) -> Masked:
        """Return `logs` masked; see the function of the same name.

        A second pass hides the secrets that their context gave away wherever else they stand.
        """
        views = [_view(log) for log in logs]
        masked, betrayed = self._pass(views, None)
        if betrayed:
            masked, _ = self._pass(views, Spread(betrayed))
        return masked

    def _pass(self, views: Sequence[_View], spread: Spread | None) -> tuple[Masked, list[bytes]]:
        book = _Book(views)
        betrayed: dict[bytes, None] = {}
        logs = tuple(
            view.masked(book, Search(self, view.text, spread, betrayed).spans()) for view in views
        )
        return Masked(logs, book.replacements()), list(betrayed)


class _Book:
    """Who has which placeholder: numbered by kind and first appearance, past those in the paste."""

    def __init__(self, views: Iterable[_View]) -> None:
        self._taken = {
            match.group() for view in views for match in _PLACEHOLDER.finditer(view.text)
        }
        self._numbers = dict.fromkeys(KINDS, 0)
        self._firsts: dict[bytes, tuple[str, str, int]] = {}
        self._counts: Counter[bytes] = Counter()
        # By family and identity of the value.
        self.placeholders: dict[tuple[str, bytes], bytes] = {}

    def add(self, kind: str, identity: bytes, file: str, line: int) -> bytes:
        """Return a new placeholder for a value that has none, first seen at this place."""
        placeholder = self._next(kind)
        while placeholder in self._taken:
            placeholder = self._next(kind)
        self._firsts[placeholder] = (kind, file, line)
        self.placeholders[_FAMILIES[kind], identity] = placeholder
        return placeholder

    def _next(self, kind: str) -> bytes:
        self._numbers[kind] += 1
        return b"<%s-%d>" % (kind.encode(), self._numbers[kind])

    def count(self, placeholders: Iterable[bytes]) -> None:
        """Note that these placeholders stand in the text, each as often as it comes."""
        self._counts.update(placeholders)

    def replacements(self) -> tuple[Replacement, ...]:
        """Return what was replaced, in the order of first appearance."""
        return tuple(
            Replacement(placeholder.decode(), kind, file, line, self._counts[placeholder])
            for placeholder, (kind, file, line) in self._firsts.items()
        )


class _View:
    """A file as masking reads it: `text` is what is searched, the source is what is cut."""

    def __init__(self, log: LogFile, source: bytes, encoding: str | None) -> None:
        self._log = log
        self._source = source
        self._encoding = encoding
        self._unseen = _unseen(source)
        self.text = _without(source, self._unseen) if self._unseen else source

    def masked(self, book: _Book, windows: Iterable[list[Span]]) -> LogFile:
        """Return the file with the spans replaced; the file itself where there are none."""
        source, name, moved = self._source, self._log.name, self._moved()
        placeholders = book.placeholders
        output = io.BytesIO()
        written = counted = 0
        line = 1
        for spans in windows:
            pieces: list[bytes] = []
            used: list[bytes] = []
            for start, end, kind, identity in spans:
                begin, stop = moved(start, end) if moved else (start, end)
                placeholder = placeholders.get((_FAMILIES[kind], identity))
                if placeholder is None:
                    line += _line_feeds(source, counted, begin)
                    counted = begin
                    placeholder = book.add(kind, identity, name, line)
                pieces += (source[written:begin], placeholder)
                used.append(placeholder)
                written = stop
            output.write(b"".join(pieces))
            book.count(used)
        if not written:
            return self._log
        output.write(source[written:])
        return LogFile(name, self._encoded(output.getvalue()))

    def _moved(self) -> Callable[[int, int], Range] | None:
        """Return what turns a span of the text into one of the source; None where they are one."""
        return _moved_by(self._unseen) if self._unseen else None

    def _encoded(self, masked: bytes) -> bytes:
        if self._encoding is None:
            return masked
        return masked.decode("utf-8", "surrogatepass").encode(self._encoding, "surrogatepass")


def _view(log: LogFile) -> _View:
    # A memory map offers what is used of bytes here: slices, find, rfind and the buffer of `re`.
    source = cast("bytes", log.data)
    for mark, encoding in _WIDE_MARKS:
        if source[:2] == mark:
            whole = source[: len(source) & ~1].decode(encoding, "surrogatepass")
            return _View(log, whole.encode("utf-8", "surrogatepass"), encoding)
    return _View(log, source, None)


def _unseen(source: bytes) -> list[Range]:
    """Return where colour codes and NUL bytes stand, in order and apart."""
    codes = [match.span() for match in ANSI.finditer(source)]
    nuls = [match.span() for match in _NULS.finditer(source)]
    if not (codes and nuls):
        return codes or nuls
    apart: list[Range] = []
    for start, end in sorted(codes + nuls):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def _without(source: bytes, unseen: Sequence[Range]) -> bytes:
    starts = (0, *(end for _, end in unseen))
    ends = (*(start for start, _ in unseen), len(source))
    return b"".join(source[start:end] for start, end in zip(starts, ends, strict=True))


def _moved_by(unseen: Sequence[Range]) -> Callable[[int, int], Range]:
    """Return what turns a span of the text without these ranges into one of the source."""
    removed = list(accumulate((end - start for start, end in unseen), initial=0))
    places = [start - before for (start, _), before in zip(unseen, removed, strict=False)]

    def moved(start: int, end: int) -> Range:
        last = end - 1
        begin = start + removed[bisect_right(places, start)]
        return begin, last + removed[bisect_right(places, last)] + 1

    return moved


def _line_feeds(source: bytes, start: int, end: int) -> int:
    """Count the line feeds of a stretch, piece by piece: a memory map has no count of its own."""
    return sum(
        source[at : min(at + _COUNTED_BYTES, end)].count(b"\n")
        for at in range(start, end, _COUNTED_BYTES)
    )
