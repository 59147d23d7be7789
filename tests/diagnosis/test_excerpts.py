from __future__ import annotations

from typing import Any

from diagnosis.excerpts import LogReader

LOG = b"".join(b"line %d\n" % n for n in range(1, 31))


def proof(line: int, file: str = "log.txt", text: str = "proof") -> dict[str, Any]:
    return {"file": file, "line": line, "text": text, "role": "cause", "rank": 1}


def reader(*files: bytes) -> LogReader:
    names = ["log.txt", *(f"rank_{n}.log" for n in range(1, len(files)))]
    return LogReader(names, lambda number: files[number])


def test_it_works() -> None:
    (excerpt,) = reader(LOG).excerpts([proof(10)])

    assert [line.number for line in excerpt.lines] == [7, 8, 9, 10, 11, 12, 13]
    assert [line.role for line in excerpt.lines if line.role] == ["cause"]
    assert excerpt.lines[0].text == "line 7"
    assert excerpt.lines[3].anchor == "L10"


def test_evidence_keeps_its_margin() -> None:
    log = b"State:\n    Reason: Error\n    Exit Code: 137\n"

    (excerpt,) = reader(log).excerpts([proof(3, text="Exit Code: 137")])

    assert [line.text for line in excerpt.lines[1:]] == ["    Reason: Error", "    Exit Code: 137"]


def test_of_an_endless_line_the_piece_that_proves_is_shown() -> None:
    log = b"x" * 5000 + b"KeyError: 'x'" + b"y" * 5000

    (excerpt,) = reader(log).excerpts([proof(1, text="KeyError: 'x'")])

    assert excerpt.lines[0].text == "KeyError: 'x'"


def test_windows_that_touch_become_one() -> None:
    excerpts = reader(LOG).excerpts([proof(20), proof(10), proof(14)])

    assert [(e.lines[0].number, e.lines[-1].number) for e in excerpts] == [(7, 23)]


def test_what_matters_most_comes_first() -> None:
    excerpts = reader(LOG).excerpts([proof(25), proof(5)])

    assert [excerpt.lines[0].number for excerpt in excerpts] == [22, 2]


def test_windows_end_where_the_file_does() -> None:
    excerpts = reader(LOG).excerpts([proof(1), proof(30)])

    assert [(e.lines[0].number, e.lines[-1].number) for e in excerpts] == [(1, 4), (27, 30)]


def test_lines_of_a_second_file_have_anchors_of_their_own() -> None:
    (excerpt,) = reader(LOG, LOG).excerpts([proof(10, "rank_1.log")])

    assert (excerpt.file_number, excerpt.lines[0].anchor) == (2, "F2-L7")


def test_log_that_is_gone_shows_nothing() -> None:
    assert LogReader(["log.txt"], lambda _number: None).excerpts([proof(10)]) == ()


def test_line_is_shown_as_a_terminal_leaves_it() -> None:
    text = b"a\n\x1b[31m 10%|#   |\r 20%|##  |\x1b[0m\r\nb\n" + b"x" * 9000 + b"\n\xff\n"

    shown = [reader(text).line("log.txt", number) for number in range(1, 7)]

    assert shown[:3] == ["a", " 20%|##  |", "b"]
    assert shown[3] == "x" * 400 + " …"
    assert shown[4:] == ["\ufffd", ""]
