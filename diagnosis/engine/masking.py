"""Masking: secrets and personal details are replaced before a log is queued, stored or shown.

`mask` takes the files of a paste and gives them back with placeholders (`<ip-1>`, `<token-2>`). The
same value has the same placeholder in all files, line numbers stay, and host names stay, since the
answer is about them. What is hidden stands in the data files of `masks/`, where its span begins and
ends in `mask_finders` and its neighbours.

One Hyperscan pass finds candidates; the text is looked at only around them, and the output is
joined from slices. Any bytes go in. Masking what is masked already changes nothing.
"""

from __future__ import annotations

import functools
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from diagnosis.engine.cache import Recipe, digest_of_files, load_or_build
from diagnosis.engine.mask_files import FOLDER, KINDS, Mask, load_masks
from diagnosis.engine.mask_search import Search, Spread, words_of
from diagnosis.engine.mask_spans import Span
from diagnosis.engine.mask_views import View, view
from diagnosis.engine.scanner import Scanner
from diagnosis.engine.text import LogFile

__all__ = ["Mask", "Masked", "Masker", "Replacement", "anchors", "load_masks", "mask"]

# A secret is one secret, whether it was found as a password or as a token.
_SECRETS = ("password", "token", "key")
_FAMILIES = {kind: (kind,) for kind in KINDS} | dict.fromkeys(_SECRETS, _SECRETS)
_PLACEHOLDER = re.compile(rb"<(?:" + "|".join(KINDS).encode() + rb")-\d{1,9}>")
# What is looked at again around a placeholder: more than any finder looks to either side.
_BESIDE_BYTES = 512
_GAP = b"\n\n\n"
# Where placeholders stand so densely, all is looked at again: cutting it up would cost more.
_DENSE_BYTES = 256
# Values glued to values are uncovered one a pass; after so many passes the word is hidden whole.
_PASSES_BY_VALUE = 4


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
    recipe = Recipe(
        "masks",
        lambda: Masker(load_masks()),
        lambda masker: (masker.masks, masker.scanner.to_bytes()),
        lambda content: Masker(content[0], Scanner(anchors(content[0]), content[1])),
    )
    return load_or_build(recipe, digest_of_files(sorted(FOLDER.glob("*.yaml"))))


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

    def mask(self, logs: Sequence[LogFile]) -> Masked:
        """Return `logs` masked; see the function of the same name.

        A second pass hides the secrets that their context gave away wherever else they stand. Where
        a placeholder uncovers what was glued to the value, that is masked too, until all is.
        """
        views = [view(log) for log in logs]
        output = _Output(views)
        betrayed = self._pass(output, views, None)
        if betrayed:
            output = _Output(views)
            self._pass(output, views, Spread(betrayed))
        passes = 1
        while self._finds_more(output.beside()):
            views = [view(log) for log in output.logs]
            output.begin_again()
            passes += 1
            self._pass(output, views, None, whole_words=passes > _PASSES_BY_VALUE)
        return Masked(tuple(output.logs), output.replacements())

    def _pass(
        self,
        output: _Output,
        views: Sequence[View],
        spread: Spread | None,
        *,
        whole_words: bool = False,
    ) -> list[bytes]:
        """Write the views masked; return the secrets that should be hidden everywhere."""
        betrayed: dict[bytes, None] = {}
        for each in views:
            found = Search(self, each.text, spread, betrayed).spans()
            output.write(each, words_of(each.text, found) if whole_words else found)
        return list(betrayed)

    def _finds_more(self, beside: bytes) -> bool:
        return any(Search(self, beside, None, {}).spans())


class _Output:
    """The masked files as they are written, and who has which placeholder.

    Placeholders are numbered by kind and first appearance, past those that the paste brought along.
    """

    def __init__(self, views: Iterable[View]) -> None:
        self.logs: list[LogFile] = []
        self._taken = {
            found.group()
            for each in views
            if each.text.find(b"<") >= 0
            for found in _PLACEHOLDER.finditer(each.text)
        }
        self._numbers = dict.fromkeys(KINDS, 0)
        # By kind and identity of the value.
        self._placeholders: dict[tuple[str, bytes], bytes] = {}
        self._firsts: dict[bytes, tuple[str, str, int]] = {}
        self._counts: Counter[bytes] = Counter()
        self._recount = False
        self._beside = io.BytesIO()

    def begin_again(self) -> None:
        """Forget the files, which are the next pass's input, and keep the placeholders."""
        self.logs = []
        self._recount = True
        self._beside = io.BytesIO()

    def write(self, each: View, windows: Iterable[list[Span]]) -> None:
        """Write a file with the spans replaced; as it came where there are none."""
        source, text, moved = each.source, each.text, each.moved()
        placeholders = self._placeholders
        whole = memoryview(source)
        output: list[bytes | memoryview] = []
        written = read = counted = 0
        line = 1
        for spans in windows:
            first = len(output)
            used: list[bytes] = []
            for start, end, kind, identity in spans:
                begin, stop = moved(start, end) if moved else (start, end)
                placeholder = placeholders.get((kind, identity))
                if placeholder is None:
                    line += each.line_feeds(counted, begin)
                    counted = begin
                    placeholder = self._add(kind, identity, each.original.name, line)
                output += (whole[written:begin], placeholder)
                used.append(placeholder)
                written = stop
            self._counts.update(used)
            length = sum(map(len, output[first:]))
            if moved or length > _DENSE_BYTES * len(spans):
                self._beside.write(_beside(text, read, spans, used))
            else:
                self._beside.writelines(output[first:])
            read = spans[-1][1] if spans else read
        if not written:
            self.logs.append(each.original)
            return
        output.append(whole[written:])
        self._beside.write(_head(text[read : read + 2 * _BESIDE_BYTES]) + _GAP)
        # One join is the one copy of the whole text.
        self.logs.append(each.log(b"".join(output)))

    def _add(self, kind: str, identity: bytes, file: str, line: int) -> bytes:
        """Return a new placeholder for a value that has none, first seen at this place."""
        placeholder = self._next(kind)
        while placeholder in self._taken:
            placeholder = self._next(kind)
        self._firsts[placeholder] = (kind, file, line)
        for each in _FAMILIES[kind]:
            self._placeholders[each, identity] = placeholder
        return placeholder

    def _next(self, kind: str) -> bytes:
        self._numbers[kind] += 1
        return b"<%s-%d>" % (kind.encode(), self._numbers[kind])

    def beside(self) -> bytes:
        """Return what stands beside the placeholders of this pass, with them."""
        return self._beside.getvalue()

    def replacements(self) -> tuple[Replacement, ...]:
        """Return what was replaced, in the order of first appearance."""
        counts = self._counts
        if self._recount:
            # A later pass may have hidden a placeholder of an earlier one.
            texts = (view(log).text for log in self.logs)
            counts = Counter(found for text in texts for found in _PLACEHOLDER.findall(text))
        return tuple(
            Replacement(placeholder.decode(), kind, file, line, counts[placeholder])
            for placeholder, (kind, file, line) in self._firsts.items()
            if counts[placeholder]
        )


def _beside(text: bytes, read: int, spans: Sequence[Span], placeholders: Sequence[bytes]) -> bytes:
    """Return what stands beside the placeholders of these spans, from `read` on, with them."""
    starts = (read, *(span[1] for span in spans))
    pieces = [_ends(text, start, span[0]) for start, span in zip(starts, spans, strict=False)]
    return b"".join(chain.from_iterable(zip(pieces, placeholders, strict=True)))


def _ends(text: bytes, start: int, end: int) -> bytes:
    """Return a stretch, or its two ends where it is long, as if lines stood between them."""
    if end - start <= 2 * _BESIDE_BYTES:
        return text[start:end]
    return (
        _head(text[start : start + 2 * _BESIDE_BYTES])
        + _GAP
        + _tail(text[end - _BESIDE_BYTES : end])
    )


def _head(piece: bytes) -> bytes:
    """Return the front of a piece, to a blank: what is cut in two may look like something else."""
    head = piece[: _BESIDE_BYTES + 1]
    if len(head) <= _BESIDE_BYTES:
        return head
    blank = max(head.rfind(b" "), head.rfind(b"\n"))
    return head[:blank] if blank > 0 else head


def _tail(piece: bytes) -> bytes:
    """Return the end of a piece, from a blank on."""
    tail = piece[-_BESIDE_BYTES:]
    blanks = [at for at in (tail.find(b" "), tail.find(b"\n")) if at >= 0]
    return tail[min(blanks) :] if blanks else tail
