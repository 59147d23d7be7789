"""Masking: secrets and personal details are replaced before a log is queued, stored or shown.

`mask` takes the files of a paste and gives them back with placeholders (`<ip-1>`, `<token-2>`); the
same value has the same placeholder in all files, line numbers stay, host names stay. What is hidden
stands in the data files of `masks/`; how its span is found, in `mask_finders`.

One Hyperscan pass finds candidates; only around them is the text looked at, and the output is joined
from slices. Any bytes go in; masking what is masked already changes nothing.
"""

from __future__ import annotations

import codecs
import functools
import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from diagnosis.engine.addresses import ip_v4
from diagnosis.engine.mask_files import KINDS, Mask, load_masks
from diagnosis.engine.mask_finders import FINDERS, Find, Span
from diagnosis.engine.scanner import Scanner
from diagnosis.engine.text import _ANSI as ANSI, LogFile

__all__ = ["Mask", "Masked", "Masker", "Replacement", "load_masks", "mask"]

_IP_V4, _VERSION = "ip_v4", "version"
_WINDOW_BYTES = 1 << 20
# Longer than any anchor reaches, and than any finder looks back from a hit.
_OVERLAP_BYTES = 4096
_Where = Callable[[int, int], tuple[int, int]]
_OURS = re.compile(rb"<(" + "|".join(KINDS).encode() + rb")-(\d{1,9})>")
_SECRETS = frozenset(("password", "token", "key"))
# What spreads over a paste: at most so many values, none shorter.
_SPREAD_VALUES = 256
_SPREAD_LENGTH = 8
_WORD = re.compile(rb"[A-Za-z]+[._-]?\Z|[a-z][a-z_.-]*\Z")
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a placeholder stands for, told without the value: the owner finds it by file and line.

    `line` is the line of its first appearance, counted from 1; `count` counts all appearances in all
    files.
    """

    placeholder: str
    kind: str
    file: str
    line: int
    count: int


@dataclass(frozen=True, slots=True)
class Masked:
    """The masked files, in the order in which they came, and what was replaced, in order too."""

    logs: tuple[LogFile, ...]
    replacements: tuple[Replacement, ...]


def mask(logs: Sequence[LogFile], masker: Masker | None = None) -> Masked:
    """Return `logs` with secrets and personal details replaced; takes any bytes and never fails.

    Files without a finding come back as they are. `masker` defaults to one of the data files,
    compiled once a process.
    """
    return (masker or _default_masker()).mask(logs)


@functools.cache
def _default_masker() -> Masker:
    return Masker(load_masks())


class Masker:
    """Compiled masks, safe to share between threads."""

    def __init__(self, masks: Sequence[Mask], scanner: Scanner | None = None) -> None:
        """Take masks and, from a cache, the scanner of their `anchors`; it is compiled if None."""
        self.masks = tuple(masks)
        self.scanner = scanner or Scanner(anchors(masks))
        self._reach = [reach for each in masks for reach in _reaches(each)]
        self._owners = [each for each in masks for _ in each.anchors]
        self._finders: dict[str, Find] = {}

    def mask(self, logs: Sequence[LogFile]) -> Masked:
        """Return `logs` masked; see the function of the same name."""
        views = [_view(log) for log in logs]
        result, spread = self._pass(views, None)
        if spread:
            result, _ = self._pass(views, _Spread(spread))
        return result

    def _pass(self, views: Sequence[_View], spread: _Spread | None) -> tuple[Masked, list[bytes]]:
        book = _Book(views)
        found: dict[bytes, None] = {}
        logs = tuple(
            view.masked(book, self._spans(view.text, spread, found)) for view in views
        )
        return Masked(logs, book.replacements()), list(found)

    def _spans(
        self, text: bytes, spread: _Spread | None, found: dict[bytes, None]
    ) -> Iterator[list[Span]]:
        """Yield the spans to hide, window by window, in order and apart from each other.

        Values that should be hidden wherever they stand are added to `found`.
        """
        floors: dict[str, int] = {}
        waiting: list[Span] = []
        for start, end in _windows(text):
            window = text[start:end]
            waiting += self._spans_near(text, start, self.scanner.scan(window), floors, found)
            if spread:
                waiting += spread.spans(text, start, window)
            if waiting:
                ready, waiting = _settled(waiting, end - _OVERLAP_BYTES)
                yield ready
        yield _apart(waiting)

    def _spans_near(
        self,
        text: bytes,
        start: int,
        hits: Sequence[tuple[int, int]],
        floors: dict[str, int],
        found: dict[bytes, None],
    ) -> list[Span]:
        spans: list[Span] = []
        addresses: list[int] = []
        versions: set[int] = set()
        owners, reach = self._owners, self._reach
        for index, end in hits:
            owner = owners[index]
            if owner.finder == _IP_V4:
                addresses.append(start + end)
                continue
            if owner.finder == _VERSION:
                versions.add(start + end)
                continue
            floor = floors.get(owner.id, 0)
            least, most = reach[index]
            new = self._finder(owner)(text, floor, start + end, least, most)
            if new:
                spans += new
                floors[owner.id] = new[-1][1]
                if owner.spread and len(found) < _SPREAD_VALUES:
                    found.update((span[3], None) for span in new if _spreads(span[3]))
        if addresses:
            spans += _ip_v4_spans(text, addresses, versions)
        return spans

    def _finder(self, owner: Mask) -> Find:
        finder = self._finders.get(owner.id)
        if finder is None:
            finder = self._finders[owner.id] = FINDERS[owner.finder](owner)
        return finder


def anchors(masks: Iterable[Mask]) -> list[bytes]:
    """Return the Hyperscan patterns of the masks, in the order in which a Masker expects them."""
    return [anchor.encode() for each in masks for anchor, _, _ in each.anchors]


def _reaches(each: Mask) -> list[tuple[int, int]]:
    return [(least, most) for _, least, most in each.anchors]


def _windows(text: bytes) -> Iterator[tuple[int, int]]:
    """Cut the text into windows that end at line ends, or overlap where a line is longer."""
    size, start = len(text), 0
    while start < size:
        end = min(start + _WINDOW_BYTES, size)
        line_end = text.rfind(b"\n", start, end) + 1 if end < size else end
        yield start, line_end if line_end > start else end
        start = line_end if line_end > start else end - _OVERLAP_BYTES


def _ip_v4_spans(text: bytes, ends: Sequence[int], versions: set[int]) -> list[Span]:
    spans: list[Span] = []
    append = spans.append
    for end in ends:
        found = ip_v4(text, end, in_version=end in versions)
        if found:
            append((*found, "ip", text[slice(*found)]))
    return spans


# --- spans --------------------------------------------------------------------------------------


def _settled(spans: list[Span], limit: int) -> tuple[list[Span], list[Span]]:
    """Divide spans into those that nothing to come can touch, apart, and the rest."""
    apart = _apart(spans)
    unsettled = next((at for at, span in enumerate(apart) if span[1] > limit), len(apart))
    return apart[:unsettled], apart[unsettled:]


def _apart(spans: list[Span]) -> list[Span]:
    """Return sorted spans without overlap: those that touch the same bytes become one."""
    spans.sort()
    apart: list[Span] = []
    reached = -1
    for span in spans:
        if span[0] >= reached:
            apart.append(span)
            reached = span[1]
        elif span[1] > reached:
            start, _, kind, identity = apart[-1]
            apart[-1] = (start, span[1], kind, identity + b"\0" + span[3])
            reached = span[1]
    return apart


def _spreads(value: bytes) -> bool:
    """Say whether a secret is long and odd enough to be looked for where no context betrays it."""
    return len(value) >= _SPREAD_LENGTH and len(value) <= 512 and not _WORD.match(value)


class _Spread:
    """The secrets that the paste itself gave away, found again where they stand alone."""

    def __init__(self, values: Sequence[bytes]) -> None:
        self._values = list(values)
        self._scanner = Scanner([re.escape(value) for value in self._values])

    def spans(self, text: bytes, start: int, window: bytes) -> list[Span]:
        spans: list[Span] = []
        for index, end in self._scanner.scan(window):
            value = self._values[index]
            stop = start + end
            begin = stop - len(value)
            if not (text[begin - 1 : begin] if begin else b"").isalnum() and not text[stop : stop + 1].isalnum():
                spans.append((begin, stop, "token", value))
        return spans


# --- placeholders -------------------------------------------------------------------------------


class _Book:
    """Who has which placeholder: numbered by kind and first appearance, around those in the paste."""

    def __init__(self, views: Iterable[_View]) -> None:
        self._taken = {match.group() for view in views for match in _OURS.finditer(view.text)}
        self._next = dict.fromkeys(KINDS, 0)
        self._placeholders: dict[tuple[str, bytes], bytes] = {}
        self._firsts: dict[bytes, tuple[str, str, int]] = {}
        self._counts: dict[bytes, int] = {}

    def placeholder(self, kind: str, identity: bytes) -> tuple[bytes, bool]:
        """Return the placeholder of a value, and whether it is new."""
        key = ("secret" if kind in _SECRETS else kind, identity)
        known = self._placeholders.get(key)
        if known is not None:
            self._counts[known] += 1
            return known, False
        new = self._placeholders[key] = self._number(kind)
        self._counts[new] = 1
        return new, True

    def _number(self, kind: str) -> bytes:
        while True:
            self._next[kind] += 1
            placeholder = b"<%s-%d>" % (kind.encode(), self._next[kind])
            if placeholder not in self._taken:
                return placeholder

    def first(self, placeholder: bytes, kind: str, file: str, line: int) -> None:
        """Note where a placeholder stands first."""
        self._firsts[placeholder] = (kind, file, line)

    def replacements(self) -> tuple[Replacement, ...]:
        return tuple(
            Replacement(placeholder.decode(), kind, file, line, self._counts[placeholder])
            for placeholder, (kind, file, line) in self._firsts.items()
        )


# --- views --------------------------------------------------------------------------------------


class _View:
    """A file as masking reads it: `text` is what is searched, `_source` what is cut from."""

    def __init__(self, log: LogFile, source: bytes, text: bytes, encoding: str | None) -> None:
        self.text = text
        self._log = log
        self._source = source
        self._encoding = encoding

    def masked(self, book: _Book, windows: Iterable[list[Span]]) -> LogFile:
        """Return the file with the spans replaced; the file itself where there are none."""
        source, name = self._source, self._log.name
        output = io.BytesIO()
        write = output.write
        written = counted = 0
        line = 1
        where = self._offsets()
        for spans in windows:
            for start, end, kind, identity in spans:
                begin, stop = where(start, end)
                placeholder, new = book.placeholder(kind, identity)
                if new:
                    line += _line_feeds(source, counted, begin)
                    counted = begin
                    book.first(placeholder, kind, name, line)
                write(source[written:begin])
                write(placeholder)
                written = stop
        if not written:
            return self._log
        write(source[written:])
        return LogFile(name, self._encoded(output.getvalue()))

    def _offsets(self) -> _Where:
        return _unmoved if self.text is self._source else _moved_by_ansi(self._source)

    def _encoded(self, masked: bytes) -> bytes:
        if self._encoding is None:
            return masked
        return masked.decode("utf-8", "surrogatepass").encode(self._encoding, "surrogatepass")


def _view(log: LogFile) -> _View:
    source, encoding = log.data, None
    for mark, wide in _WIDE_MARKS:
        if source[:2] == mark:
            source = bytes(source)
            decoded = source[: len(source) & ~1].decode(wide, "surrogatepass")
            source, encoding = decoded.encode("utf-8", "surrogatepass"), wide
    text = ANSI.sub(b"", source) if source.find(b"\x1b") >= 0 else source
    return _View(log, source, text, encoding)


def _unmoved(start: int, end: int) -> tuple[int, int]:
    return start, end


def _moved_by_ansi(source: bytes) -> _Where:
    """Return what turns a span of the text without colour codes into one of the source."""
    codes = [match.span() for match in ANSI.finditer(source)]
    removed = list(accumulate((end - start for start, end in codes), initial=0))
    places = [start - before for (start, _), before in zip(codes, removed, strict=False)]

    def where(start: int, end: int) -> tuple[int, int]:
        begin = start + removed[bisect_right(places, start)]
        return begin, end - 1 + removed[bisect_right(places, end - 1)] + 1

    return where


def _line_feeds(source: bytes, start: int, end: int) -> int:
    """Count line feeds in a stretch; a memory map has no count of its own."""
    if isinstance(source, bytes):
        return source.count(b"\n", start, end)
    return sum(
        source[at : min(at + _WINDOW_BYTES, end)].count(b"\n")
        for at in range(start, end, _WINDOW_BYTES)
    )
