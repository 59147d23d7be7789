from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.envelope_files import load_envelopes
from diagnosis.engine.stamps import ASSUMED_YEAR, StampReader, year_told

READERS = {entry.name: StampReader(entry) for entry in load_envelopes().times}
MOMENTS = st.datetimes(
    datetime.datetime.fromisoformat("1971-01-01"), datetime.datetime.fromisoformat("2199-12-31")
)


def epoch(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0
) -> float:
    moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
    return moment.timestamp()


@given(MOMENTS)
def test_iso_gives_the_seconds_that_the_calendar_gives(moment: datetime.datetime) -> None:
    stamp = READERS["iso"].read(moment.isoformat(sep=" ", timespec="microseconds").encode())
    assert stamp.seconds == pytest.approx(moment.replace(tzinfo=datetime.UTC).timestamp(), abs=1e-5)
    assert (stamp.clock, stamp.zone_known) == ("date", False)


@given(
    MOMENTS,
    st.integers(-14 * 60, 14 * 60),
)
def test_an_offset_is_taken_off(moment: datetime.datetime, minutes: int) -> None:
    zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    aware = moment.replace(microsecond=0, tzinfo=zone)
    stamp = READERS["iso"].read(aware.isoformat().encode())
    assert (stamp.seconds, stamp.zone_known) == (aware.timestamp(), True)


def test_the_name_of_a_zone_that_several_places_bear_is_not_guessed() -> None:
    stamp = READERS["ctime"].read(b"Tue Dec  7 02:10:11 EST 2021")
    assert (stamp.seconds, stamp.zone_known) == (epoch(2021, 12, 7, 2, 10, 11), False)


def test_a_stamp_without_a_year_is_put_into_the_assumed_one() -> None:
    stamp = READERS["syslog"].read(b"Feb 29 05:53:43")
    assert stamp.seconds == epoch(ASSUMED_YEAR, 2, 29, 5, 53, 43)
    assert stamp.clock == "date_without_year"


def test_a_day_that_the_callers_year_has_not_is_no_time() -> None:
    assert READERS["syslog"].read(b"Feb 29 05:53:43", 2026) is None


@pytest.mark.parametrize(
    ("text", "hour"), [(b"12:00:01 AM", 0), (b"12:00:01 PM", 12), (b"11:00:01 PM", 23)]
)
def test_half_days_are_read(text: bytes, hour: int) -> None:
    assert READERS["clock"].read(text).seconds == hour * 3600 + 1


@pytest.mark.parametrize(
    ("log", "year"),
    [
        (b"E1130 05:53:43.475 x\n2026-11-30 05:53:43,475 INFO x\n2027-01-01 00:00:00", 2026),
        (b"[Mon Nov 30 05:53:43 2026] NVRM: x", 2026),
        (b"Tue Dec  7 02:10:11 EST 2021", 2021),
        (b"step 2026-11 of 2030", None),
        (b"", None),
    ],
)
def test_the_year_is_that_of_the_first_dated_line(log: bytes, year: int | None) -> None:
    assert year_told(log) == year


@pytest.mark.parametrize("name", sorted(READERS))
@given(
    text=st.one_of(st.binary(max_size=40), st.from_regex(r"[\d:.,/ TZA-z+-]{0,40}").map(str.encode))
)
def test_any_text_is_a_time_or_none(name: str, text: bytes) -> None:
    stamp = READERS[name].read(text)
    assert stamp is None or stamp.seconds == stamp.seconds
