from __future__ import annotations

from collections.abc import Mapping

import pytest

from diagnosis.timeline_axis import Axis, Clock, Moment, Place, duration_in_words, measure

FILE = "log.txt"


def measured(
    lanes: list[list[int]],
    stamps: Mapping[int, Moment],
    root: int | None = None,
    *,
    by_lines: bool = False,
) -> Axis:
    clock = Clock(lambda _file, line: stamps.get(line), {}, {})
    happened = [] if root is None else [(FILE, root)]
    places = [[(FILE, line) for line in lane] for lane in lanes]
    return measure(places, happened, clock, {FILE: 100}, by_lines=by_lines)


def dated(seconds: Mapping[int, float]) -> dict[int, Moment]:
    return {line: Moment(second, "date") for line, second in seconds.items()}


def at(line: int) -> Place:
    return FILE, line


def test_it_works() -> None:
    axis = measured([[1, 5], [3, 9]], dated({1: 0, 3: 10, 5: 50, 9: 100}), root=5)

    assert axis.kind == "time"
    # Marks at the ends stay clear of what stands beside the axis.
    assert [axis.at(at(line)) for line in (1, 3, 5, 9)] == [1.5, 11.2, 50, 98.5]
    assert axis.ends == ("50 s before", "50 s after")
    assert axis.zero == 50


def test_without_stamps_it_is_lines() -> None:
    axis = measured([[1, 50], [100]], {}, root=50)

    assert (axis.kind, axis.has_time) == ("no_stamps", False)
    assert axis.ends == ("line 1", "line 100")
    assert axis.zero == pytest.approx(49.5, abs=0.1)


def test_time_can_be_put_aside_for_lines() -> None:
    axis = measured([[1, 50]], dated({1: 0, 50: 9}), root=50, by_lines=True)

    assert (axis.kind, axis.has_time) == ("chosen", True)


def test_one_place_without_a_stamp_makes_it_lines() -> None:
    assert measured([[1, 2, 3]], dated({1: 0, 2: 9})).kind == "no_stamps"


def test_stamps_that_are_all_alike_make_it_lines() -> None:
    assert measured([[1, 2]], dated({1: 7, 2: 7})).kind == "no_stamps"


def test_clocks_that_do_not_compare_make_it_lines() -> None:
    stamps = {1: Moment(7, "date"), 2: Moment(90, "uptime")}

    assert measured([[1, 2]], stamps).kind == "clocks"


def test_dates_with_and_without_a_year_compare() -> None:
    stamps = {1: Moment(7, "date"), 2: Moment(90, "date_without_year")}

    assert measured([[1, 2]], stamps).kind == "time"


def test_stamps_that_run_backwards_in_a_lane_make_it_lines() -> None:
    stamps = dated({1: 100, 2: 40, 3: 0, 4: 99})

    assert measured([[1, 2]], stamps).kind == "backwards"
    # Parts of a file that were written by several hosts stand one behind the other.
    assert measured([[1, 4], [2], [3]], stamps).kind == "time"


def test_what_came_long_before_is_left_out() -> None:
    axis = measured([[1, 99], [98]], dated({1: 0, 98: 9_000, 99: 9_090}), root=98)

    assert axis.at(at(98)) == 25.75
    assert axis.is_before(at(1))
    assert axis.at(at(1)) == 1.5
    assert axis.ends == ("30 s before", "1 min 30 s after")


def test_root_at_the_very_end_keeps_all_in_sight() -> None:
    axis = measured([[1, 99]], dated({1: 0, 99: 9_000}), root=99)

    assert axis.ends == ("2 h 30 min before", "")
    assert axis.zero == 98.5


def test_lines_of_several_files_are_each_on_a_scale_of_its_own() -> None:
    places = [[("a.log", 1), ("a.log", 10)], [("b.log", 500), ("b.log", 1000)]]
    clock = Clock(lambda _file, _line: None, {}, {})

    axis = measure(places, [("b.log", 500)], clock, {"a.log": 10, "b.log": 1000}, by_lines=False)

    assert (axis.kind, axis.is_common) == ("files", False)
    assert [axis.at(place) for lane in places for place in lane] == [11.2, 98.5, 50, 98.5]


def test_nothing_to_measure_is_no_fault() -> None:
    axis = measured([], {})

    assert axis.zero is None
    assert axis.at(at(1)) is None


def test_skew_is_that_of_the_host_that_printed_the_line() -> None:
    stamps = {1: Moment(0, "date"), 2: Moment(100, "date", "node-2"), 3: Moment(100, "date")}
    clock = Clock(
        lambda _file, line: stamps[line], {"node-2": 60.0, "node-3": -5.0}, {at(3): "node-3"}
    )

    assert [clock.read(at(line)) for line in (1, 2, 3)] == [
        ("date", 0),
        ("date", 40),
        ("date", 105),
    ]


@pytest.mark.parametrize(
    ("zero", "side"), [(1, "start"), (50, "middle"), (100, "end"), (None, "start")]
)
def test_label_of_the_root_stays_within_the_drawing(zero: int | None, side: str) -> None:
    assert measured([[1, 50, 100]], {}, root=zero).side == side


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.01, ""),
        (0.42, "0.4 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (145, "2 min 25 s"),
        (7_260, "2 h 1 min"),
        (180_000, "2 d 2 h"),
    ],
)
def test_durations_are_told_as_people_do(seconds: float, words: str) -> None:
    assert duration_in_words(seconds) == words
