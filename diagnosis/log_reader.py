"""Lines of the masked log, read by the numbers that a verdict uses, ready to be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from diagnosis.engine import LogFile
from diagnosis.engine.text import Text, prepare
from diagnosis.visible import visible

__all__ = ["SHOWN_CHARACTERS", "LogReader", "anchor", "shown"]

# Of a longer line, this much is shown; the file itself has all of it.
SHOWN_CHARACTERS = 400
_BYTES_A_CHARACTER = 4


def anchor(file_number: int, line: int) -> str:
    """Return the fragment of a line: L123 in the first file, F2-L123 in the second."""
    return f"L{line}" if file_number == 1 else f"F{file_number}-L{line}"


class LogReader:
    """Reads the masked files of an answer, each of them once and only when it is asked for."""

    def __init__(self, names: Sequence[str], read_file: Callable[[int], bytes | None]) -> None:
        self.names = tuple(names)
        self._read_file = read_file
        self._texts: dict[str, Text | None] = {}

    def file_number(self, file: str) -> int:
        """Return the place of a file in the paste, from 1."""
        return self.names.index(file) + 1

    def text(self, file: str) -> Text | None:
        """Return a file as the engine sees it; None where it is gone."""
        if file not in self._texts:
            data = self._read_file(self.names.index(file)) if file in self.names else None
            self._texts[file] = None if data is None else prepare(LogFile(file, data))
        return self._texts[file]

    def line(self, file: str, number: int) -> str:
        """Return one line as shown; "" where the file has none of that number."""
        return next((text for _number, text in self.lines(file, range(number, number + 1))), "")

    def lines(
        self, file: str, numbers: range, characters: int = SHOWN_CHARACTERS
    ) -> Iterator[tuple[int, str]]:
        """Yield neighbouring lines with their numbers, as far as the file has them."""
        for number, line in zip(numbers, self.raw_lines(file, numbers), strict=False):
            yield number, shown(line, characters)

    def raw_lines(self, file: str, numbers: range) -> Iterator[bytes]:
        """Yield neighbouring lines as they stand in the file, as far as it has them."""
        text = self.text(file)
        if text is None:
            return
        start = text.offset_of_line(numbers.start)
        for _number in numbers:
            if start >= len(text.counted):
                return
            end = text.counted.find(b"\n", start)
            end = len(text.counted) if end < 0 else end
            yield text.counted[start:end]
            start = end + 1


def shown(line: bytes, characters: int = SHOWN_CHARACTERS) -> str:
    """Return a line as a terminal leaves it: after its last carriage return, and not endless."""
    last_drawn = line.rstrip(b"\r").rpartition(b"\r")[2]
    text = visible(last_drawn[: _BYTES_A_CHARACTER * characters].decode("utf-8", "replace"))
    return text if len(text) <= characters else f"{text[:characters]} …"
