"""Logs that a collector exported with the newest line first, turned round: causes stand above.

So does Grafana's Loki unless asked for the other order (its HTTP API: `direction` is backward by
default), and what is saved from the pages of other collectors is often so too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from diagnosis.engine.sources import Envelopes
from diagnosis.engine.stamps import DATED
from diagnosis.engine.text import Text
from diagnosis.engine.unfolded import shape_of

__all__ = ["oldest_first"]

# Times are compared at so many places of a text, and at no fewer.
_SAMPLES = 48
_FEWEST_SAMPLES = 8
# Of neighbouring samples so many may go forward: processes write out of turn by a second or two.
_FORWARD_SHARE = 0.1
# No collector exports more at once.
_MOST_LINES = 200_000
_HEAD_BYTES = 512
# Lines that begin alike in so many bytes, digits aside, have both a time or neither.
_STAMP_BYTES = 48


def oldest_first(text: Text, envelopes: Envelopes) -> Text:
    """Return the text with its records in the order of time, or as it is where they are so.

    A record is a line with a time, and what follows it without one. Line numbers stay those of the
    file as it came.
    """
    if text.lines > _MOST_LINES or not _goes_back(_times_of_samples(text, envelopes)):
        return text
    ended = text.counted.endswith(b"\n")
    starts = list(_starts(text))
    ends = [*(start - 1 for start in starts[1:]), len(text.data) - ended]
    bounds = list(zip(starts, ends, strict=True))
    has_time: dict[bytes, bool] = {}
    records: list[list[int]] = []
    for number, (start, end) in enumerate(bounds):
        shape = shape_of(text.data[start : min(end, start + _STAMP_BYTES)])
        if shape not in has_time:
            has_time[shape] = _time(text.data[start:end], envelopes) is not None
        if has_time[shape] or not records:
            records.append([])
        records[-1].append(number)
    order = [number for record in reversed(records) for number in record]
    tail = b"\n" if ended else b""
    return replace(
        text,
        data=b"\n".join(text.data[slice(*bounds[number])] for number in order) + tail,
        counted=b"\n".join(text.counted[slice(*bounds[number])] for number in order) + tail,
        order=tuple(number + 1 for number in order),
    )


def _starts(text: Text) -> Iterator[int]:
    """Yield where each line begins that a line feed ended in the file as it came."""
    start = 0
    while 0 <= start < len(text.counted):
        yield start
        start = text.counted.find(b"\n", start) + 1 or -1


def _times_of_samples(text: Text, envelopes: Envelopes) -> list[float]:
    step = max(1, len(text.data) // _SAMPLES)
    lines = dict.fromkeys(text.bounds(offset) for offset in range(0, len(text.data), step))
    times = (_time(text.data[start:end], envelopes) for start, end in lines)
    return [time for time in times if time is not None]


def _time(line: bytes, envelopes: Envelopes) -> float | None:
    """Return the time of a line that names its day, or None."""
    facts = envelopes.parse(line[:_HEAD_BYTES])
    return facts.time if facts.clock in DATED else None


def _goes_back(times: Sequence[float]) -> bool:
    if len(times) < _FEWEST_SAMPLES or times[0] <= times[-1]:
        return False
    forward = sum(later > earlier for earlier, later in pairwise(times))
    return forward <= (len(times) - 1) * _FORWARD_SHARE
