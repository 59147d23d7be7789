from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis import timeline
from diagnosis.engine.verdict import FATES
from diagnosis.rank_groups import MOST_GROUPS, group_ranks
from diagnosis.timeline import Timeline
from diagnosis.timeline_axis import Moment
from tests.diagnosis.verdicts import consequence, evidence, fate, recovered, verdict


def draw(
    of: Mapping[str, Any], lines: int = 100, seconds: Mapping[int, float] | None = None
) -> Timeline:
    """Draw a timeline of one file; `seconds` are the stamps of its lines."""
    stamps = seconds or {}

    def moment_at(_file: str, line: int) -> Moment | None:
        return Moment(stamps[line], "date") if line in stamps else None

    drawing = timeline.draw(of, group_ranks(of["ranks"]), {"log.txt": lines}, moment_at)
    assert drawing is not None
    return drawing


def labels(drawing: Timeline) -> list[str]:
    return [lane.label for lane in drawing.lanes]


def test_it_works() -> None:
    drawing = draw(
        verdict(
            [
                fate(0, "aborted_by_peer", first_line=1, last_line=80),
                fate(1, "initiated", first_line=2, last_line=42),
            ],
            [evidence(41, 1), evidence(80, 0, role="consequence")],
            rank=1,
        )
    )

    root, other = drawing.lanes
    assert (root.label, root.letter, other.label, other.letter) == ("rank 1", "1", "rank 0", "A")
    assert [(event.line, event.kind) for event in root.events] == [(41, "initiating")]
    assert [(event.line, event.kind) for event in other.events] == [(80, "consequence")]
    assert drawing.axis.kind == "no_stamps"
    assert drawing.axis.zero == pytest.approx(40.7, abs=0.1)


def test_every_fate_and_role_is_drawn() -> None:
    assert set(timeline.LETTERS) == set(FATES)
    assert len(set(timeline.LETTERS.values())) == len(FATES)
    assert {"cause", "symptom", "consequence", "summary"} <= set(timeline.KINDS)


@pytest.mark.parametrize("world", [1, 8, 64, 1024])
def test_lanes_stay_few_and_the_root_on_top(world: int) -> None:
    root = world // 2
    ranks = [
        fate(
            n,
            "initiated" if n == root else "stalled_waiting" if n % 97 else "torn_down",
            host=f"node-{n // 8}",
            first_line=n + 1,
            last_line=world + 10 + n,
        )
        for n in range(world)
    ]
    of = verdict(
        ranks,
        [evidence(world + 5, root), evidence(world + 6, 0, role="symptom")],
        rank=root,
        consequences=[consequence("nccl-watchdog-timeout", world + 6, *range(world))],
    )
    drawing = draw(of, lines=3 * world + 20)

    assert len(drawing.lanes) <= MOST_GROUPS
    assert drawing.lanes[0].label == f"rank {root}"
    assert drawing.ranks == world
    assert all(len(lane.label) <= 14 for lane in drawing.lanes)
    assert [lane.y for lane in drawing.lanes] == [44 + 40 * n for n in range(len(drawing.lanes))]


def test_ranks_of_one_host_stand_together_and_those_of_the_root_first() -> None:
    ranks = [fate(n, host=f"node-{n % 2}") for n in range(6)]
    ranks[3] = fate(3, "initiated", host="node-1")

    drawing = draw(verdict(ranks, [evidence(5, 3)], rank=3))

    assert labels(drawing) == ["rank 3", "rank 1", "rank 5", "rank 0", "rank 2", "rank 4"]


def test_what_ranks_print_after_the_first_failure_is_broken() -> None:
    ranks = [
        fate(0, "stalled_waiting", first_line=1, last_line=100),
        fate(1, "finished", first_line=1, last_line=100),
        fate(2, "initiated", first_line=1, last_line=50),
    ]
    root, waiting, finished = draw(verdict(ranks, [evidence(50, 2)], rank=2)).lanes

    assert root.bar is not None
    assert waiting.bar is not None
    assert finished.bar is not None
    assert root.bar.broken == 0
    assert waiting.bar.hurt == pytest.approx(49.5, abs=0.1)
    assert waiting.bar.whole + waiting.bar.broken == pytest.approx(97)
    assert (finished.bar.whole, finished.bar.broken) == (97, 0)


def test_ranks_that_something_befell_alone_are_singled_out() -> None:
    of = verdict(
        [fate(n) for n in range(6)],
        [evidence(40, 1), evidence(41, role="summary")],
        consequences=[consequence("peer-closed", 60, 2, 3), consequence("peer-lost", 61, 4)],
    )

    assert timeline.ranks_singled_out(of) == {1, 4}


def test_last_collective_of_a_lane_stands_at_the_end_of_its_bar() -> None:
    late = fate(0, first_line=1, last_line=90, last_collective=42)
    early = fate(1, first_line=1, last_line=20, last_collective=41)
    drawing = draw(verdict([late, early, fate(2, first_line=1)], [evidence(5)]))

    numbers = {lane.label: lane.number for lane in drawing.lanes}
    assert drawing.has_numbers
    for label, words, side in (("rank 0", "#42", "end"), ("rank 1", "#41", "start")):
        lane = next(lane for lane in drawing.lanes if lane.label == label)
        assert lane.bar is not None
        assert lane.number is not None
        assert (lane.number.words, lane.number.side) == (words, side)
        assert lane.number.at == pytest.approx(lane.bar.start + lane.bar.whole + lane.bar.broken)
    assert numbers["rank 2"] is None


def test_rank_without_a_line_has_no_bar() -> None:
    drawing = draw(verdict([fate(0, "not_in_this_log"), fate(1, "initiated")], [evidence(5, 1)]))

    assert [lane.bar for lane in drawing.lanes] == [None, None]


def test_single_line_is_still_seen() -> None:
    ranks = [fate(0, first_line=50), fate(1, "initiated", first_line=70)]

    drawing = draw(verdict(ranks, [evidence(70, 1)], rank=1))

    assert all(lane.bar is not None and lane.bar.whole > 0 for lane in drawing.lanes)


def test_marks_that_would_overlap_are_one_link_to_the_gravest() -> None:
    proofs = [evidence(40, 0), evidence(43, 0, role="summary"), evidence(90, 0, role="symptom")]

    (lane,) = draw(verdict([fate(0, "initiated")], proofs, rank=0)).lanes

    assert [[event.line for event in mark.events] for mark in lane.marks] == [[40, 43], [90]]
    assert [mark.event.line for mark in lane.marks] == [40, 90]


def test_line_of_two_events_is_told_once_as_the_graver() -> None:
    of = verdict(
        [fate(0), fate(1, "initiated")],
        [evidence(40, 1), evidence(60, 0, role="symptom")],
        rank=1,
        consequences=[consequence("nccl-watchdog-timeout", 60, 0)],
    )

    events = [event for lane in draw(of).lanes for event in lane.events]

    assert [(event.line, event.kind) for event in events] == [(40, "initiating"), (60, "symptom")]


def test_consequence_stands_with_the_ranks_that_suffered_it() -> None:
    ranks = [fate(0, "initiated"), *(fate(n, "aborted_by_peer") for n in range(1, 40))]
    of = verdict(
        ranks, [evidence(9, 0)], rank=0, consequences=[consequence("peer-closed", 20, 3, 7, 9)]
    )

    root, others = draw(of).lanes

    assert [event.line for event in root.events] == [9]
    assert [event.line for event in others.events] == [20]


def test_what_names_no_rank_has_a_lane_of_its_own_below() -> None:
    of = verdict(
        [fate(0), fate(1, "initiated")],
        [evidence(9, 1), evidence(70, role="summary")],
        rank=1,
        consequences=[],
    )

    assert labels(draw(of)) == ["rank 1", "rank 0", "launcher"]


def test_root_of_which_no_rank_is_told_is_on_top() -> None:
    drawing = draw(verdict([fate(0), fate(1)], [evidence(9)]))

    assert labels(drawing) == ["no rank named", "rank 0", "rank 1"]
    assert drawing.lanes[0].events[0].kind == "initiating"


def test_rank_beyond_the_world_is_named_as_it_stands() -> None:
    drawing = draw(verdict([fate(0), fate(1)], [evidence(9, 4_000_000_000)], rank=4_000_000_000))

    assert drawing.lanes[0].label == "rank 4000000000"


def test_ranks_that_tie_are_none_of_them_first() -> None:
    ranks = [fate(n, "aborted_by_peer") for n in range(3)]

    drawing = draw(verdict(ranks, [evidence(10 * n + 1, n) for n in range(3)]))

    assert [event.kind for lane in drawing.lanes for event in lane.events] == ["cause"] * 3


def test_line_that_only_says_who_is_which_rank_is_no_event() -> None:
    told = [evidence(9, 1), evidence(2, 1, role="summary"), evidence(12, 1, role="summary")]

    drawing = draw(verdict([fate(0), fate(1, "initiated")], told, rank=1))

    assert [event.line for lane in drawing.lanes for event in lane.events] == [9, 12]


def test_symptom_is_called_the_first_sign() -> None:
    of = verdict([fate(0, "initiated"), fate(1)], [evidence(9, 0)], rank=0, outcome="symptom_only")

    assert draw(of).lanes[0].events[0].kind == "sign"


def test_recovered_fault_is_marked() -> None:
    of = verdict(
        [fate(n, "finished", first_line=1, last_line=90) for n in range(2)],
        outcome="no_failure",
        recovered=[recovered("gradient-overflow", 30, 1)],
    )

    drawing = draw(of)

    assert [event.kind for event in drawing.lanes[1].events] == ["recovered"]
    assert drawing.axis.zero is None


def test_recovered_fault_of_several_files_is_not_placed() -> None:
    ranks = [fate(n, "finished", first_line=1, file=f"rank_{n}.log") for n in range(2)]
    of = verdict(ranks, outcome="no_failure", recovered=[recovered("gradient-overflow", 30, 1)])
    sizes = {"rank_0.log": 50, "rank_1.log": 50}

    drawing = timeline.draw(of, group_ranks(of["ranks"]), sizes, lambda _file, _line: None)

    assert drawing is not None
    assert drawing.axis.kind == "files"
    assert not any(lane.events for lane in drawing.lanes)


@pytest.mark.parametrize(
    "of",
    [
        verdict(),
        verdict([], [evidence(3), evidence(9)]),
        verdict([fate(0, "initiated", first_line=2)], [evidence(2, 0)], rank=0),
        verdict([fate(0, "finished")], outcome="no_failure"),
    ],
    ids=["nothing", "no ranks", "one rank, one line", "one rank, no line"],
)
def test_where_there_is_nothing_to_see_nothing_is_drawn(of: dict[str, Any]) -> None:
    assert timeline.draw(of, group_ranks(of["ranks"]), {"log.txt": 9}, lambda *_place: None) is None


def test_a_skewed_clock_is_put_right() -> None:
    ranks = [
        fate(0, "aborted_by_peer", host="node-0", first_line=1, last_line=10),
        fate(1, "initiated", host="node-1", first_line=11, last_line=20),
    ]
    of = verdict(
        ranks,
        [evidence(20, 1)],
        rank=1,
        coverage={"clock_skew": {"node-0": 0.0, "node-1": 400.0}},
    )

    root, other = draw(of, seconds={1: 0, 10: 50, 11: 400, 20: 430}).lanes

    assert root.bar is not None
    assert other.bar is not None
    assert (root.bar.start, other.bar.start) == (1.5, 1.5)
    assert root.bar.whole == pytest.approx(0.97 * 60)
    assert other.bar.whole + other.bar.broken == pytest.approx(97)


def test_long_names_are_cut_where_hosts_differ() -> None:
    ranks = [
        fate(0, "initiated", host="gpu-cluster-west-node-0017.internal.example"),
        fate(1, host="node-2.internal.example"),
    ]

    drawing = draw(verdict(ranks, [evidence(5, 0)], rank=0))

    assert [lane.host for lane in drawing.lanes] == ["…est-node-0017", "node-2"]


_lines = st.integers(1, 100)
_ranks = st.integers(0, 2000)


@st.composite
def _verdicts(random: st.DrawFn) -> dict[str, Any]:
    ranks = []
    for rank in random(st.lists(_ranks, unique=True, max_size=60)):
        first, last = sorted((random(_lines), random(_lines)))
        lines = {"first_line": first, "last_line": last} if random(st.booleans()) else {}
        host = random(st.sampled_from([None, "node-1", "node-2"]))
        ranks.append(fate(rank, random(st.sampled_from(FATES)), host=host, **lines))
    proofs = [
        evidence(line, random(st.none() | _ranks))
        for line in random(st.lists(_lines, unique=True, max_size=5))
    ]
    followed = [
        consequence("peer-closed", random(_lines), *random(st.lists(_ranks, max_size=9)))
        for _number in range(random(st.integers(0, 4)))
    ]
    return verdict(ranks, proofs, random(st.none() | _ranks), consequences=followed)


@given(of=_verdicts(), seconds=st.dictionaries(_lines, st.floats(0, 1e6), min_size=90))
def test_whatever_a_verdict_holds_the_drawing_stays_in_its_frame(
    of: dict[str, Any], seconds: dict[int, float]
) -> None:
    def moment_at(_file: str, line: int) -> Moment | None:
        return Moment(seconds[line], "date") if line in seconds else None

    groups = group_ranks(of["ranks"])
    for by_lines in (False, True):
        drawing = timeline.draw(of, groups, {"log.txt": 100}, moment_at, by_lines=by_lines)
        if drawing is None:
            continue
        assert len(drawing.lanes) <= MOST_GROUPS + 1
        assert drawing.ranks == len(of["ranks"])
        for lane in drawing.lanes:
            assert all(0 <= at <= 100 for mark in lane.marks for at in mark.places)
            if lane.bar is not None:
                assert 0 <= lane.bar.start <= lane.bar.hurt <= 100
                assert lane.bar.hurt + lane.bar.broken <= 100.1
