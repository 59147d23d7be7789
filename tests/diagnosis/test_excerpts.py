from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from diagnosis.excerpts import Excerpt, Excerpts, Piece
from diagnosis.log_reader import LogReader
from tests.diagnosis.verdicts import evidence

LOG = b"".join(b"line %d\n" % n for n in range(1, 31))


def excerpts(*files: bytes, of: list[dict[str, Any]]) -> tuple[Excerpt, ...]:
    return over(*files, of=of).of_evidence()


def over(*files: bytes, of: list[dict[str, Any]]) -> Excerpts:
    names = ["log.txt", *(f"rank_{n}.log" for n in range(1, len(files)))]
    return Excerpts(LogReader(names, lambda number: files[number]), of)


def outline(pieces: tuple[Piece, ...]) -> list[str]:
    """Tell shown lines as "7-13" and gaps as "(1-6)"."""
    return [
        f"({piece.gap.first}-{piece.gap.last})"
        if piece.gap
        else f"{piece.lines[0].number}-{piece.lines[-1].number}"
        for piece in pieces
    ]


def test_it_works() -> None:
    (excerpt,) = excerpts(LOG, of=[evidence(10, 1)])

    assert outline(excerpt.pieces) == ["(1-6)", "7-13", "(14-30)"]
    lines = excerpt.pieces[1].lines
    assert [(line.number, line.role) for line in lines if line.role] == [(10, "cause")]
    assert lines[0].text == "line 7"
    assert lines[3].anchor == "L10"
    assert excerpt.shown == (range(7, 14),)
    assert excerpt.total == 30


def test_evidence_keeps_its_margin() -> None:
    log = b"State:\n    Reason: Error\n    Exit Code: 137\n"

    (excerpt,) = excerpts(log, of=[evidence(3, text="Exit Code: 137")])

    texts = [line.text for line in excerpt.pieces[0].lines]
    assert texts == ["State:", "    Reason: Error", "    Exit Code: 137"]


def test_of_an_endless_line_the_piece_that_proves_is_shown() -> None:
    log = b"x" * 5000 + b"KeyError: 'x'" + b"y" * 5000

    (excerpt,) = excerpts(log, of=[evidence(1, text="KeyError: 'x'")])

    assert excerpt.pieces[0].lines[0].text == "KeyError: 'x'"


def test_windows_that_touch_become_one() -> None:
    (excerpt,) = excerpts(LOG, of=[evidence(20), evidence(10), evidence(14)])

    assert outline(excerpt.pieces) == ["(1-6)", "7-23", "(24-30)"]


def test_what_would_be_a_small_gap_is_shown() -> None:
    (excerpt,) = excerpts(LOG, of=[evidence(5), evidence(13), evidence(25)])

    assert outline(excerpt.pieces) == ["1-16", "(17-21)", "22-30"]


def test_lines_stand_in_their_order() -> None:
    (excerpt,) = excerpts(LOG, of=[evidence(25), evidence(5)])

    assert outline(excerpt.pieces) == ["1-8", "(9-21)", "22-30"]


def test_file_that_matters_most_comes_first() -> None:
    found = excerpts(LOG, LOG, of=[evidence(10, file="rank_1.log"), evidence(5)])

    assert [excerpt.file for excerpt in found] == ["rank_1.log", "log.txt"]
    assert found[0].pieces[1].lines[0].anchor == "F2-L7"


def test_large_gap_opens_at_both_of_its_ends() -> None:
    log = b"".join(b"%d\n" % n for n in range(2000))
    (excerpt,) = excerpts(log, of=[evidence(1), evidence(1000)])

    between, below = [piece.gap for piece in excerpt.pieces if piece.gap]

    assert between is not None
    assert below is not None
    assert (between.count, between.parts) == (992, (range(5, 305), range(697, 997)))
    assert below.parts == (range(1004, 1304),)


def test_opened_part_leaves_the_rest_of_the_gap() -> None:
    log = b"".join(b"%d\n" % n for n in range(2000))
    cut = over(log, of=[evidence(1)])

    assert outline(cut.opened("log.txt", range(5, 2001), range(5, 305))) == ["5-304", "(305-2000)"]
    assert outline(cut.opened("log.txt", range(5, 1000), range(700, 1000))) == [
        "(5-699)",
        "700-999",
    ]
    assert outline(cut.opened("log.txt", range(5, 9), range(5, 9))) == ["5-8"]


def test_log_that_is_gone_shows_nothing() -> None:
    reader = LogReader(["log.txt"], lambda _number: None)

    assert Excerpts(reader, [evidence(10)]).of_evidence() == ()
    assert Excerpts(reader, [evidence(10)]).opened("log.txt", range(1, 9), range(1, 9)) == ()


def test_evidence_behind_the_end_of_the_file_shows_nothing() -> None:
    assert excerpts(LOG, of=[evidence(99)]) == ()


@given(
    total=st.integers(1, 1500),
    lines=st.lists(st.integers(1, 1500), min_size=1, max_size=5, unique=True),
)
def test_every_line_is_shown_or_in_a_gap_and_once(total: int, lines: list[int]) -> None:
    log = b"x\n" * total
    for excerpt in excerpts(log, of=[evidence(line) for line in lines]):
        told: list[int] = []
        for piece in excerpt.pieces:
            told.extend(line.number for line in piece.lines)
            if piece.gap:
                told.extend(range(piece.gap.first, piece.gap.last + 1))
                assert all(
                    piece.gap.first <= part.start and part.stop - 1 <= piece.gap.last
                    for part in piece.gap.parts
                )
        assert told == list(range(1, total + 1))
