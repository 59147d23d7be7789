from __future__ import annotations

from diagnosis.gutter import Gutter, marked_lines, stand_for
from diagnosis.store import KeptFile
from tests.diagnosis.verdicts import consequence, evidence, verdict


def gutter(marked: dict[int, str], total: int = 100, *shown: range) -> Gutter:
    file = KeptFile("log.txt", total, 0)
    return stand_for(file, marked, shown, lambda _file, line: f"#L{line}", 10)


def test_it_works() -> None:
    found = gutter({1: "cause", 51: "symptom", 100: "summary"}, 100, range(41, 61))

    assert [group.y for group in found.groups] == [0.5, 50.5, 99.5]
    assert [group.href for group in found.groups] == ["#L1", "#L51", "#L100"]
    assert found.groups[1].words == "line 51 (symptom)"
    assert (found.bands[0].y, found.bands[0].height) == (40, 20)


def test_marks_that_would_overlap_share_a_link_and_keep_their_places() -> None:
    (group, other) = gutter({11: "cause", 16: "consequence", 31: "summary"}).groups

    assert [tick.y for tick in group.ticks] == [10.5, 15.5]
    assert group.words == "line 11 (cause), line 16 (consequence)"
    assert [tick.line for tick in other.ticks] == [31]


def test_what_is_shown_of_a_huge_log_is_still_seen() -> None:
    for line in (1, 999_990):
        (band,) = gutter({}, 1_000_000, range(line, line + 7)).bands
        assert band.height > 0.5
        assert band.y + band.height <= 100


def test_short_and_empty_logs() -> None:
    assert gutter({1: "cause"}, 1).groups[0].y == 50
    assert gutter({}, 0).groups == ()


def test_lines_are_marked_by_what_the_verdict_says_of_them() -> None:
    of = verdict(
        [],
        [evidence(40), evidence(60, role="summary"), evidence(7, file="rank_1.log")],
        consequences=[consequence("peer-closed", 60), consequence("peer-closed", 12)],
    )

    assert marked_lines(of, "log.txt") == {12: "consequence", 40: "cause", 60: "summary"}
    assert marked_lines(of, "rank_1.log") == {7: "cause"}
    assert marked_lines(verdict(), "log.txt") == {}
