"""The evidence in its context: windows of the masked log, with the gaps between them to open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diagnosis.log_reader import SHOWN_CHARACTERS, LogReader, anchor
from diagnosis.number_runs import runs

__all__ = ["MOST_LINES", "Excerpt", "Excerpts", "Gap", "LogLine", "Piece"]

# What is opened at once, and the most that is ever asked for.
MOST_LINES = 2000
_OPENED_LINES = 300
_CONTEXT_LINES = 3
_SMALLEST_GAP = 5


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line as shown; `role` and `rank` are those of the evidence it is, if it is any."""

    number: int
    anchor: str
    text: str
    role: str = ""
    rank: int | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """Lines that are not shown, from `first` to `last`, and the parts of it that open at once."""

    first: int
    last: int
    parts: tuple[range, ...]

    @property
    def count(self) -> int:
        """How many lines it leaves out."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file: lines that are shown, or a gap."""

    lines: tuple[LogLine, ...] = ()
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One file with its evidence, in the order of its lines; `file_number` counts from 1."""

    file: str
    file_number: int
    total: int
    pieces: tuple[Piece, ...]

    @property
    def shown(self) -> tuple[range, ...]:
        """The runs of lines that are shown."""
        return tuple(
            range(piece.lines[0].number, piece.lines[-1].number + 1)
            for piece in self.pieces
            if piece.lines
        )


class Excerpts:
    """Cuts pieces out of the log, the lines of evidence in them marked as such."""

    def __init__(self, reader: LogReader, evidence: Sequence[Mapping[str, Any]]) -> None:
        self._reader = reader
        self._evidence = evidence

    def of_evidence(self) -> tuple[Excerpt, ...]:
        """Return the files that hold evidence, the one that matters most first."""
        files = dict.fromkeys(each["file"] for each in self._evidence)
        return tuple(found for file in files if (found := self._excerpt(file)) is not None)

    def rows(
        self,
        file: str,
        numbers: range,
        chosen: range = range(0),
        characters: int = SHOWN_CHARACTERS,
    ) -> tuple[LogLine, ...]:
        """Return neighbouring lines of a file; the `chosen` ones say so."""
        proofs = {each["line"]: each for each in reversed(self._evidence) if each["file"] == file}
        file_number = self._reader.file_number(file)
        return tuple(
            _row(file_number, line, text, proofs.get(line), chosen=line in chosen)
            for line, text in self._reader.lines(file, numbers, characters)
        )

    def opened(self, file: str, gap: range, part: range) -> tuple[Piece, ...]:
        """Return what a gap becomes when a part of it is opened: its rest stays a gap."""
        text = self._reader.text(file)
        if text is None:
            return ()
        return (
            *_gap(gap.start, part.start - 1, above=gap.start > 1, below=True),
            Piece(lines=self.rows(file, part)),
            *_gap(part.stop, gap.stop - 1, above=True, below=gap.stop <= text.lines),
        )

    def _excerpt(self, file: str) -> Excerpt | None:
        text = self._reader.text(file)
        if text is None:
            return None
        lines = [each["line"] for each in self._evidence if each["file"] == file]
        pieces: list[Piece] = []
        after = 1
        for window in _windows(lines, text.lines):
            pieces.extend(_gap(after, window.start - 1, above=after > 1, below=True))
            pieces.append(Piece(lines=self.rows(file, window)))
            after = window.stop
        if not pieces:
            return None
        pieces.extend(_gap(after, text.lines, above=True, below=False))
        return Excerpt(file, self._reader.file_number(file), text.lines, tuple(pieces))


def _windows(lines: Iterable[int], total: int) -> list[range]:
    """Return the runs of lines around the evidence; what would be a small gap is shown instead."""
    wanted = {
        each
        for line in lines
        for each in range(line - _CONTEXT_LINES, line + _CONTEXT_LINES + 1)
        if 0 < each <= total
    }
    if not wanted:
        return []
    shown: list[range] = []
    edges = [range(1, 1), *runs(sorted(wanted)), range(total + 1, total + 1)]
    for run in edges:
        if shown and run.start - shown[-1].stop < _SMALLEST_GAP:
            shown[-1] = range(shown[-1].start, run.stop)
        else:
            shown.append(run)
    return [run for run in shown if run]


def _gap(first: int, last: int, *, above: bool, below: bool) -> Iterator[Piece]:
    """Yield the gap from `first` to `last`, unless there is none.

    Lines are shown `above` it, `below` it, or both: there it opens.
    """
    if last < first:
        return
    if last - first < _OPENED_LINES:
        parts: tuple[range, ...] = (range(first, last + 1),)
    else:
        parts = (
            *((range(first, first + _OPENED_LINES),) if above else ()),
            *((range(last - _OPENED_LINES + 1, last + 1),) if below else ()),
        )
        if above and below and parts[0].stop >= parts[1].start:
            parts = (range(first, last + 1),)
    yield Piece(gap=Gap(first, last, parts))


def _row(
    file_number: int, line: int, text: str, proof: Mapping[str, Any] | None, *, chosen: bool
) -> LogLine:
    return LogLine(
        number=line,
        anchor=anchor(file_number, line),
        text=_with_margin(text, proof),
        role=proof["role"] if proof else "",
        rank=proof["rank"] if proof else None,
        chosen=chosen,
    )


def _with_margin(shown: str, proof: Mapping[str, Any] | None) -> str:
    """Return a line with the blanks it begins with, so that its neighbours stand as they did.

    Of a line that is too long to be shown, the verdict's piece of it is what matters.
    """
    return proof["text"] if proof and proof["text"].strip() not in shown else shown
