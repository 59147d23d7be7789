"""Evidence lines in their context, cut from the masked log, ready to be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.engine import LogFile
from diagnosis.engine.text import Text, prepare

__all__ = ["Excerpt", "ExcerptLine", "LogReader", "anchor", "runs"]

_CONTEXT_LINES = 3
_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line as shown; `role` and `rank` are those of the evidence it is, if it is any."""

    number: int
    anchor: str
    text: str
    role: str = ""
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Neighbouring lines of one file; `file_number` counts from 1."""

    file: str
    file_number: int
    lines: tuple[ExcerptLine, ...]


def anchor(file_number: int, line: int) -> str:
    """Return the fragment of a line: L123 in the first file, F2-L123 in the second."""
    return f"L{line}" if file_number == 1 else f"F{file_number}-L{line}"


class LogReader:
    """Reads lines of the masked files by the numbers that a verdict uses; each file once."""

    def __init__(self, names: Sequence[str], read_file: Callable[[int], bytes | None]) -> None:
        self._names = list(names)
        self._read_file = read_file
        self._texts: dict[str, Text | None] = {}

    def line(self, file: str, number: int) -> str:
        """Return one line as shown; "" where the file has none of that number."""
        text = self._text(file)
        return "" if text is None else _shown(text, number)

    def excerpts(self, evidence: Sequence[Mapping[str, Any]]) -> tuple[Excerpt, ...]:
        """Return the evidence of a verdict with the lines around it, what matters most first."""
        proofs = {(each["file"], each["line"]): each for each in reversed(evidence)}
        cut = (self._excerpt(file, window, proofs) for file, window in _windows(evidence))
        return tuple(excerpt for excerpt in cut if excerpt is not None)

    def file_number(self, file: str) -> int:
        """Return the place of a file in the paste, from 1."""
        return self._names.index(file) + 1

    def _excerpt(
        self, file: str, window: range, proofs: Mapping[tuple[str, int], Mapping[str, Any]]
    ) -> Excerpt | None:
        text = self._text(file)
        if text is None:
            return None
        number = self.file_number(file)
        lines = []
        for line in window:
            if line > text.lines:
                break
            proof = proofs.get((file, line))
            lines.append(
                ExcerptLine(
                    number=line,
                    anchor=anchor(number, line),
                    text=_with_margin(_shown(text, line), proof),
                    role=proof["role"] if proof else "",
                    rank=proof["rank"] if proof else None,
                )
            )
        return Excerpt(file, number, tuple(lines))

    def _text(self, file: str) -> Text | None:
        if file not in self._texts:
            data = self._read_file(self._names.index(file)) if file in self._names else None
            self._texts[file] = None if data is None else prepare(LogFile(file, data))
        return self._texts[file]


def _windows(evidence: Sequence[Mapping[str, Any]]) -> list[tuple[str, range]]:
    """Return runs of lines around the evidence, in the order of the evidence they hold."""
    wanted: dict[str, set[int]] = {}
    for each in evidence:
        around = range(max(each["line"] - _CONTEXT_LINES, 1), each["line"] + _CONTEXT_LINES + 1)
        wanted.setdefault(each["file"], set()).update(around)
    windows = [(file, run) for file, lines in wanted.items() for run in runs(sorted(lines))]

    def place(window: tuple[str, range]) -> int:
        file, lines = window
        return next(
            place
            for place, each in enumerate(evidence)
            if each["file"] == file and each["line"] in lines
        )

    return sorted(windows, key=place)


def runs(numbers: Sequence[int]) -> list[range]:
    """Return ordered numbers as ranges without gaps."""
    found: list[range] = []
    for number in numbers:
        if found and found[-1].stop == number:
            found[-1] = range(found[-1].start, number + 1)
        else:
            found.append(range(number, number + 1))
    return found


def _with_margin(shown: str, proof: Mapping[str, Any] | None) -> str:
    """Return a line with the blanks it begins with, so that its neighbours stand as they did.

    Of a line that is too long to be shown, the verdict's piece of it is what matters.
    """
    return proof["text"] if proof and proof["text"].strip() not in shown else shown


def _shown(text: Text, number: int) -> str:
    """Return a line as a terminal leaves it: after its last carriage return, and not endless."""
    start = text.offset_of_line(number)
    end = text.counted.find(b"\n", start)
    line = text.counted[start : len(text.counted) if end < 0 else end].rstrip(b"\r")
    shown = line.rpartition(b"\r")[2][: 4 * _CHARACTERS].decode("utf-8", "replace")
    return shown if len(shown) <= _CHARACTERS else f"{shown[:_CHARACTERS]} …"
