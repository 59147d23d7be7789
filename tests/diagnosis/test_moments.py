from __future__ import annotations

import pytest

from diagnosis.log_reader import LogReader
from diagnosis.moments import Moments
from diagnosis.preloaded import compiled


def moments(*files: bytes) -> Moments:
    names = [f"rank_{n}.log" for n in range(len(files))]
    return Moments(LogReader(names, lambda number: files[number]), compiled().envelopes)


def seconds(of: Moments, line: int, file: str = "rank_0.log") -> float:
    moment = of.at(file, line)
    assert moment is not None
    return moment.seconds


def test_it_works() -> None:
    of = moments(b"2026-11-30 06:00:00,500 step 1\n2026-11-30 06:02:00,500 step 2\n")

    assert seconds(of, 2) - seconds(of, 1) == pytest.approx(120)


def test_line_without_a_stamp_has_that_of_the_nearest_above() -> None:
    of = moments(
        b"2026-11-30 06:00:00,500 step 1\nTraceback (most recent call last):\nKeyError: 'x'\n"
        b"2026-11-30 06:02:00,500 bye\n"
    )

    assert seconds(of, 3) == seconds(of, 1)


def test_first_lines_have_the_stamp_that_follows() -> None:
    of = moments(b"+ python train.py\n2026-11-30 06:00:00,500 step 1\n")

    assert seconds(of, 1) == seconds(of, 2)


def test_stamp_without_a_year_is_of_the_year_that_another_line_tells() -> None:
    of = moments(b"2026-11-30 06:00:00,000 step 1\n[rank0]:[E1130 06:30:00.000000 x.cpp:1] late\n")

    assert seconds(of, 2) - seconds(of, 1) == pytest.approx(1800)


def test_log_without_stamps() -> None:
    assert moments(b"step 1\n" * 500).at("rank_0.log", 250) is None


def test_files_and_lines_that_are_not_there() -> None:
    of = moments(b"")

    assert of.at("rank_0.log", 7) is None
    assert of.at("other.log", 1) is None
