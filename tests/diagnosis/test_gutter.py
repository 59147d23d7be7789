from __future__ import annotations

from diagnosis.gutter import Gutter, marked_lines, stand_for
from diagnosis.store import KeptFile
from tests.diagnosis.verdicts import consequence, evidence, verdict


def gutter(marked: dict[int, str], total: int = 101, *shown: range) -> Gutter:
    file = KeptFile("log.txt", total, 0)
    return stand_for(file, marked, shown, lambda _file, line: f"#L{line}", 10)


def test_it_works() -> None:
    found = gutter({1: "cause", 51: "symptom", 101: "summary"}, 101, range(41, 62))

    assert [group.y for group in found.groups] == [0, 50, 100]
    assert [group.href for group in found.groups] == ["#L1", "#L51", "#L101"]
    assert found.groups[1].words == "line 51 (symptom)"
    assert (found.bands[0].y, found.bands[0].height) == (40, 20.79)


def test_marks_that_would_overlap_share_a_link_and_keep_their_places() -> None:
    (group, other) = gutter({11: "cause", 16: "consequence", 31: "summary"}).groups

    assert [tick.y for tick in group.ticks] == [10, 15]
    assert group.words == "line 11 (cause), line 16 (consequence)"
    assert [tick.line for tick in other.ticks] == [31]


def test_what_is_shown_of_a_huge_log_is_still_seen() -> None:
    assert gutter({}, 1_000_000, range(1, 8)).bands[0].height > 0.5


def test_short_and_empty_logs() -> None:
    assert gutter({1: "cause"}, 1).groups[0].y == 0
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
