"""Searches one file for the spans to hide: window by window, in order, apart from each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from diagnosis.engine.addresses import ADDRESS_REACH, ip_v4, is_plain
from diagnosis.engine.mask_finders import FINDERS
from diagnosis.engine.mask_spans import Find, Span, end_of
from diagnosis.engine.scanner import OVERLAP_BYTES, Scanner, windows

if TYPE_CHECKING:
    from diagnosis.engine.mask_files import Mask
    from diagnosis.engine.masking import Masker

__all__ = ["Search", "Spread", "words_of"]

# Hits of these finders are read together.
_IP_V4, _VERSION = "ip_v4", "version"
_KNOWN_ADDRESSES = 1 << 16
_WORD = re.compile(rb"[^ \t\r\n]*+")
_BLANKS = (b" ", b"\t", b"\r", b"\n")
# Secrets that spread: at most so many, and of such a length that no common word is one.
_SPREAD_VALUES = 256
_SPREAD_LENGTHS = range(8, 513)
_SPREAD_NEVER = re.compile(
    rb"[A-Za-z]+[._-]?\Z|[a-z][a-z_.-]*\Z|[\d.,:-]+\Z|[/~.]|(?i:pass|pwd|user|token|secret|key)"
)


class Search:
    """The search of one file; `betrayed` gathers what is to be hidden wherever else it stands."""

    def __init__(
        self, masker: Masker, text: bytes, spread: Spread | None, betrayed: dict[bytes, None]
    ) -> None:
        self._masker = masker
        self._text = text
        self._spread = spread
        self._betrayed = betrayed
        # Of this text alone: a finder may note where it has been.
        self._finders: dict[str, Find] = {}
        # Up to where each mask has looked.
        self._floors: dict[str, int] = {}
        # What an address and the bytes beside it were judged to be: logs repeat themselves.
        self._known: dict[bytes, tuple[int, int, bytes]] = {}

    def spans(self) -> Iterator[list[Span]]:
        """Yield the spans of the file in order, some at a time."""
        waiting: list[Span] = []
        for start, end in windows(self._text):
            window = self._text[start:end]
            waiting += self._spans_of_window(window, start)
            if self._spread:
                waiting += self._spread.spans(window, start)
            if waiting:
                # No finder looks back further than windows overlap.
                ready, waiting = _settled(waiting, end - OVERLAP_BYTES)
                yield ready
        yield _apart(waiting)

    def _spans_of_window(self, window: bytes, start: int) -> list[Span]:
        spans: list[Span] = []
        addresses: list[int] = []
        versions: set[int] = set()
        owners = self._masker.owners
        for index, end in self._masker.scanner.scan(window):
            finder = owners[index].finder
            if finder == _IP_V4:
                addresses.append(start + end)
            elif finder == _VERSION:
                versions.add(start + end)
            else:
                spans += self._spans_of_hit(index, start + end)
        if addresses:
            spans += self._addresses(addresses, versions)
        return spans

    def _spans_of_hit(self, index: int, end: int) -> list[Span]:
        owner = self._masker.owners[index]
        least, most = self._masker.reaches[index]
        floor = self._floors.get(owner.id, 0)
        spans, reached = self._finder(owner)(self._text, floor, end, least, most)
        if reached > floor:
            self._floors[owner.id] = reached
        if owner.spread:
            self._betrayed.update((span[3], None) for span in spans if _may_spread(span[3]))
        return spans

    def _finder(self, owner: Mask) -> Find:
        """Return the finder of a mask, made when it is first needed."""
        finder = self._finders.get(owner.id)
        if finder is None:
            finder = self._finders[owner.id] = FINDERS[owner.finder](owner)
        return finder

    def _addresses(self, ends: Sequence[int], versions: set[int]) -> list[Span]:
        """Return the IPv4 addresses whose fourth number begins before these offsets."""
        text, known = self._text, self._known
        spans: list[Span] = []
        append = spans.append
        for end in ends:
            near = text[end - ADDRESS_REACH : end + 3] if end >= ADDRESS_REACH else b""
            found = known.get(near)
            if found is not None and end not in versions:
                before, after, address = found
                append((end - before, end + after, "ip", address))
                continue
            span = ip_v4(text, end, in_version=end in versions)
            if span is None:
                continue
            start, stop = span
            address = text[start:stop]
            append((start, stop, "ip", address))
            if near and is_plain(text, start, stop):
                if len(known) >= _KNOWN_ADDRESSES:
                    known.clear()
                known[near] = (end - start, stop - end, address)
        return spans


class Spread:
    """Secrets that their context gave away, found again where they stand alone."""

    def __init__(self, values: Sequence[bytes]) -> None:
        """Take the values; those beyond a limit are left to their contexts."""
        self._values = list(values[:_SPREAD_VALUES])
        self._scanner = Scanner([_literal(value) for value in self._values])

    def spans(self, window: bytes, start: int) -> list[Span]:
        """Return where the values stand, as words of their own, in a window from `start` on."""
        spans: list[Span] = []
        for index, stop in self._scanner.scan(window):
            value = self._values[index]
            begin = stop - len(value)
            if not _is_joined(window, begin, stop):
                spans.append((start + begin, start + stop, "token", value))
        return spans


def _literal(value: bytes) -> bytes:
    """Return the Hyperscan pattern of exactly these bytes."""
    return b"".join(b"\\x%02x" % byte for byte in value)


def _is_joined(window: bytes, begin: int, stop: int) -> bool:
    return window[max(0, begin - 1) : begin].isalnum() or window[stop : stop + 1].isalnum()


def _may_spread(value: bytes) -> bool:
    """Say whether a secret is so long and odd that it can be looked for without its context."""
    return len(value) in _SPREAD_LENGTHS and not _SPREAD_NEVER.match(value)


def words_of(text: bytes, windows: Iterator[list[Span]]) -> Iterator[list[Span]]:
    """Yield the spans widened to the blanks around them, each word once."""
    reached = 0
    for spans in windows:
        words: list[Span] = []
        for start, end, kind, _ in spans:
            if end <= reached:
                continue
            begin = _word_start(text, reached, start)
            reached = end_of(_WORD, text, end)
            words.append((begin, reached, kind, text[begin:reached]))
        yield words


def _word_start(text: bytes, floor: int, start: int) -> int:
    """Return the offset behind the last blank before `start`."""
    return 1 + max(floor - 1, *(text.rfind(blank, floor, start) for blank in _BLANKS))


def _settled(spans: list[Span], limit: int) -> tuple[list[Span], list[Span]]:
    """Divide spans into those that nothing to come can touch, and the rest; both apart."""
    apart = _apart(spans)
    unsettled = next((at for at, span in enumerate(apart) if span[1] > limit), len(apart))
    return apart[:unsettled], apart[unsettled:]


def _apart(spans: list[Span]) -> list[Span]:
    """Return the spans in order; those that share bytes become one that hides them all."""
    spans.sort()
    apart: list[Span] = []
    reached = -1
    for span in spans:
        if span[0] >= reached:
            apart.append(span)
            reached = span[1]
        elif span[1] > reached:
            start, _, kind, identity = apart[-1]
            reached = span[1]
            apart[-1] = (start, reached, kind, identity + b"\0" + span[3])
    return apart
