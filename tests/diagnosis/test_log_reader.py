from __future__ import annotations

from diagnosis.log_reader import LogReader, anchor


def reader(*files: bytes) -> LogReader:
    names = ["log.txt", *(f"rank_{n}.log" for n in range(1, len(files)))]
    return LogReader(names, lambda number: files[number])


def test_it_works() -> None:
    log = reader(b"one\ntwo\nthree\n")

    assert list(log.lines("log.txt", range(2, 9))) == [(2, "two"), (3, "three")]
    assert log.line("log.txt", 1) == "one"


def test_line_is_shown_as_a_terminal_leaves_it() -> None:
    text = b"a\n\x1b[31m 10%|#   |\r 20%|##  |\x1b[0m\r\nb\n" + b"x" * 9000 + b"\n\xff\n"

    shown = [reader(text).line("log.txt", number) for number in range(1, 7)]

    assert shown[:3] == ["a", " 20%|##  |", "b"]
    assert shown[3] == "x" * 400 + " …"
    assert shown[4:] == ["\ufffd", ""]


def test_marks_of_direction_are_shown_and_do_not_act() -> None:
    assert reader("\u202egpj.exe\n".encode()).line("log.txt", 1) == "<U+202E>gpj.exe"


def test_empty_lines_and_an_unfinished_one_count() -> None:
    assert list(reader(b"\n\nend").lines("log.txt", range(1, 9))) == [(1, ""), (2, ""), (3, "end")]


def test_lines_behind_the_end_are_none() -> None:
    assert list(reader(b"one\n").lines("log.txt", range(2, 4))) == []
    assert list(reader(b"").lines("log.txt", range(1, 4))) == []


def test_file_that_is_gone_or_unknown_has_no_lines() -> None:
    gone = LogReader(["log.txt"], lambda _number: None)

    assert gone.line("log.txt", 1) == gone.line("other.txt", 1) == ""


def test_file_is_read_once_and_only_when_asked_for() -> None:
    read: list[int] = []

    def read_file(number: int) -> bytes:
        read.append(number)
        return b"one\n"

    log = LogReader(["log.txt", "rank_1.log"], read_file)
    for _ in range(3):
        log.line("rank_1.log", 1)

    assert read == [1]


def test_lines_of_a_second_file_have_fragments_of_their_own() -> None:
    assert (anchor(1, 7), anchor(2, 7)) == ("L7", "F2-L7")
