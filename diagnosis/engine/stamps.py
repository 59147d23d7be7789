"""Time stamps of log lines: formats are data (`envelopes/_times.yaml`), seconds come out.

No clock is read: a stamp without a year is put into the year the caller gives, else into
ASSUMED_YEAR, and its `clock` says so.
"""

from __future__ import annotations

import datetime
import functools
import mmap
from collections.abc import Mapping
from dataclasses import dataclass

from diagnosis.engine.patterns import BytePattern

__all__ = [
    "ASSUMED_YEAR",
    "CLOCKS",
    "DATED",
    "TIME_GROUPS",
    "Stamp",
    "StampReader",
    "TimeFormat",
    "year_told",
]

# What the seconds of a stamp count from: the epoch; the epoch, in a year that the line does not
# tell; midnight; the boot of the host. Only stamps of one clock can be compared.
CLOCKS = ("date", "date_without_year", "time_of_day", "uptime")
# Stamps of these clocks can be compared across hosts and days.
DATED = ("date", "date_without_year")
# A leap year, so that 29 February is a day.
ASSUMED_YEAR = 2000

TIME_GROUPS = frozenset(
    (
        *("year", "month", "day", "hour", "half", "minute", "second", "fraction", "zone"),
        *("epoch", "epoch_ms", "epoch_us", "epoch_ns", "uptime", "uptime_us"),
    )
)

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECONDS_A_DAY = 86_400
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        start=1,
    )
}
_UTC_NAMES = frozenset(("Z", "z", "UTC", "GMT"))


# A log that has not dated a line in its first megabyte is taken to date none.
_YEAR_REACH = 1 << 20


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """A way to write a time: an RE2 pattern over the whole text of the stamp.

    Its groups: year (two digits count from 2000), month (number or English name), day, hour, half
    (AM or PM), minute, second, fraction (digits after the point), zone; or epoch (whole seconds),
    epoch_ms, epoch_ns; or uptime (whole seconds), uptime_us.
    """

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Stamp:
    """One time stamp of a line.

    `seconds` count from what `clock` says (one of CLOCKS). A dated stamp is taken as UTC unless it
    names its offset; `zone_known` says whether it does.
    """

    seconds: float
    text: str
    clock: str
    zone_known: bool


class StampReader:
    """Reads stamps of one format."""

    __slots__ = ("_pattern", "read")

    def __init__(self, time_format: TimeFormat) -> None:
        self._pattern = BytePattern(time_format.pattern)
        # The ranks of a job stamp their lines within the same seconds.
        self.read = functools.lru_cache(maxsize=1024)(self._read)

    def _read(self, text: bytes, year: int | None = None) -> Stamp | None:
        """Return the stamp, or None where the text is no time that exists (month 13)."""
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        parts = {
            name: value.decode("ascii", "replace") for name, value in found.groups.items() if value
        }
        try:
            seconds, clock = _seconds(parts, year)
            offset = _offset(parts.get("zone"))
        except (ValueError, KeyError, OverflowError):
            return None
        return Stamp(
            seconds=seconds - (offset or 0),
            text=text.decode("utf-8", "replace"),
            clock=clock,
            zone_known=offset is not None or any(part.startswith("epoch") for part in parts),
        )


def year_told(data: bytes | mmap.mmap) -> int | None:
    """Return the year of the first dated stamp in a log, for the stamps that name none."""
    found = _dated().search(data[:_YEAR_REACH])
    if found is None:
        return None
    return int(found.groups.get("first") or found.groups["last"])


@functools.cache
def _dated() -> BytePattern:
    return BytePattern(
        r"(?P<first>(?:19|20)\d\d)[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d"
        r"|\d\d:\d\d:\d\d (?:[A-Z]{3,5} )?(?P<last>(?:19|20)\d\d)\b"
    )


def _seconds(parts: Mapping[str, str], year: int | None) -> tuple[float, str]:
    fraction = float("0." + parts["fraction"]) if "fraction" in parts else 0.0
    for unit, scale, clock in (
        ("epoch", 1, "date"),
        ("epoch_ms", 1_000, "date"),
        ("epoch_us", 1_000_000, "date"),
        ("epoch_ns", 1_000_000_000, "date"),
        ("uptime", 1, "uptime"),
        ("uptime_us", 1_000_000, "uptime"),
    ):
        if unit in parts:
            return int(parts[unit]) / scale + fraction, clock
    of_day = _second_of_day(parts) + fraction
    if "day" not in parts:
        return of_day, "time_of_day"
    full_year, clock = _year(parts, year)
    day = datetime.date(full_year, _month(parts["month"]), int(parts["day"]))
    return (day.toordinal() - _EPOCH) * _SECONDS_A_DAY + of_day, clock


def _second_of_day(parts: Mapping[str, str]) -> int:
    hour = int(parts["hour"])
    if "half" in parts:
        hour = hour % 12 + (12 if parts["half"] in ("PM", "pm") else 0)
    # 23:59:60 is a leap second; datetime knows none.
    second = min(int(parts.get("second", "0")), 59)
    moment = datetime.time(hour, int(parts["minute"]), second)
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _year(parts: Mapping[str, str], year: int | None) -> tuple[int, str]:
    told = parts.get("year")
    if told is None:
        return (ASSUMED_YEAR if year is None else year), "date_without_year"
    return (2000 + int(told) if len(told) == 2 else int(told)), "date"


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS[text[:3].lower()]


def _offset(zone: str | None) -> int | None:
    """Return the seconds a zone is ahead of UTC; None for none and for names such as PST."""
    if zone is None:
        return None
    if zone in _UTC_NAMES:
        return 0
    if zone[0] not in "+-":
        return None
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4] or "0") * 60
    return -seconds if zone[0] == "-" else seconds
