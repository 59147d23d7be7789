"""Looking for words in the masked log: the lines that hold them, in order, upper or lower case."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from diagnosis.engine.text import Text
from diagnosis.log_reader import SHOWN_CHARACTERS, LogReader, shown
from diagnosis.visible import visible

__all__ = ["MOST_HITS", "FileHits", "Hit", "lines_holding", "search"]

MOST_HITS = 500
_CHARACTERS_BEFORE = 120


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that holds the words; of a long one, the part around them."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class FileHits:
    """The lines of one file that hold the words: the first of them, and how many there are."""

    file: str
    file_number: int
    hits: tuple[Hit, ...]
    count: int


def search(reader: LogReader, words: str, most: int = MOST_HITS) -> tuple[FileHits, ...]:
    """Return the files with lines that hold `words`, at most `most` lines in all."""
    wanted = words.encode().lower()
    found: list[FileHits] = []
    for number, file in enumerate(reader.names, start=1):
        text = reader.text(file)
        if text is None or not wanted:
            continue
        offsets = list(_offsets(text.counted.lower(), wanted))
        if offsets:
            hits = tuple(_hit(text, offset, wanted) for offset in offsets[:most])
            most -= len(hits)
            found.append(FileHits(file, number, hits, len(offsets)))
    return tuple(found)


def lines_holding(reader: LogReader, file: str, words: str, most: int) -> tuple[int, ...]:
    """Return the numbers of the first lines of a file that hold `words`, at most `most`."""
    wanted, text = words.encode().lower(), reader.text(file)
    if text is None or not wanted:
        return ()
    offsets = itertools.islice(_offsets(text.counted.lower(), wanted), most)
    return tuple(map(text.line_number, offsets))


def _offsets(data: bytes, wanted: bytes) -> Iterator[int]:
    """Yield where the words first stand in each line that holds them."""
    offset = data.find(wanted)
    while offset >= 0:
        yield offset
        end = data.find(b"\n", offset)
        offset = -1 if end < 0 else data.find(wanted, end)


def _hit(text: Text, offset: int, wanted: bytes) -> Hit:
    data = text.counted
    start = data.rfind(b"\n", 0, offset) + 1
    end = data.find(b"\n", offset)
    line = data[start : len(data) if end < 0 else end]
    whole = shown(line)
    if wanted.decode("utf-8", "replace") in whole.lower():
        return Hit(text.line_number(offset), whole)
    before = max(offset - start - _CHARACTERS_BEFORE, 0)
    piece = line[before : before + SHOWN_CHARACTERS].decode("utf-8", "replace")
    return Hit(text.line_number(offset), f"… {visible(piece)} …")
