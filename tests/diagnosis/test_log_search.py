from __future__ import annotations

from diagnosis.log_reader import LogReader
from diagnosis.log_search import FileHits, search


def found(words: str, *files: bytes, most: int = 500) -> tuple[FileHits, ...]:
    names = [f"rank_{n}.log" for n in range(len(files))]
    return search(LogReader(names, lambda number: files[number]), words, most)


def test_it_works() -> None:
    (hits,) = found("error", b"one\nKeyError: 'error'\nthree\nan ERROR\n")

    assert (hits.file, hits.file_number, hits.count) == ("rank_0.log", 1, 2)
    assert [(hit.number, hit.text) for hit in hits.hits] == [
        (2, "KeyError: 'error'"),
        (4, "an ERROR"),
    ]


def test_files_without_the_words_are_left_out() -> None:
    assert [hits.file for hits in found("two", b"one\n", b"two\n")] == ["rank_1.log"]
    assert found("three", b"one\n", b"two\n") == ()


def test_nothing_is_looked_for_without_words() -> None:
    assert found("", b"one\n") == ()


def test_words_are_words_and_no_pattern() -> None:
    (hits,) = found("x[0-9]+(a|", b"x1a\nx[0-9]+(a|b)\n")

    assert [hit.number for hit in hits.hits] == [2]


def test_hits_are_counted_beyond_what_is_shown() -> None:
    one, two = found("x", b"x\n" * 7, b"x\n" * 5, most=10)

    assert (len(one.hits), one.count) == (7, 7)
    assert (len(two.hits), two.count) == (3, 5)


def test_of_an_endless_line_the_part_around_the_words_is_shown() -> None:
    (hits,) = found("needle", b"a" * 100_000 + b"<needle>" + b"b" * 100_000)

    assert "<needle>" in hits.hits[0].text
    assert len(hits.hits[0].text) < 500


def test_marks_of_direction_are_shown() -> None:
    (hits,) = found("exe", "\u202egpj.exe".encode())

    assert hits.hits[0].text == "<U+202E>gpj.exe"


def test_words_beyond_ascii() -> None:
    (hits,) = found("größe", "die Größe\nder Rang\n".encode())

    assert [hit.number for hit in hits.hits] == [1]
