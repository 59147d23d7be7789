"""When the lines of a masked log were printed, read from their stamps as the engine reads them."""

from __future__ import annotations

import functools

from diagnosis.engine.sources import Envelopes
from diagnosis.engine.stamps import year_told
from diagnosis.log_reader import LogReader
from diagnosis.timeline_axis import Moment

__all__ = ["Moments"]

# A line without a stamp was printed about when its neighbours were: how far they are looked for.
_REACH = 200
_LINE_CHARACTERS = 4096


class Moments:
    """Tells when lines were printed; each is read once."""

    def __init__(self, reader: LogReader, envelopes: Envelopes) -> None:
        self._reader = reader
        self._envelopes = envelopes
        self.at = functools.cache(self._at)

    @functools.cached_property
    def _year(self) -> int | None:
        """The year of the first dated line, for the stamps that name none."""
        texts = map(self._reader.text, self._reader.names)
        return next((year_told(text.data) for text in texts if text is not None), None)

    def _at(self, file: str, line: int) -> Moment | None:
        """Return when a line was printed, by its own stamp or the nearest; None without one."""
        above = self._reader.raw_lines(file, range(max(line - _REACH, 1), line + 1))
        for each in reversed(list(above)):
            if (moment := self._read(each)) is not None:
                return moment
        for each in self._reader.raw_lines(file, range(line + 1, line + _REACH + 1)):
            if (moment := self._read(each)) is not None:
                return moment
        return None

    def _read(self, line: bytes) -> Moment | None:
        facts = self._envelopes.parse(line[:_LINE_CHARACTERS], year=self._year)
        if facts.time is None or facts.clock is None:
            return None
        return Moment(facts.time, facts.clock, facts.source.host)
