import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.scanner import OVERLAP_BYTES, WINDOW_BYTES, Scanner

PATTERNS = [
    rb"out of memory",
    rb"^Killed$",
    rb"Rank \d{1,3} died",
    rb"[ab]c[^\n]{0,4}d",
    rb"(?i:nccl) error",
]


def naive_lines(data: bytes) -> set[tuple[int, int]]:
    """Return (pattern, line) of every match, found line by line with `re`."""
    return {
        (index, number)
        for number, line in enumerate(data.split(b"\n"))
        for index, pattern in enumerate(PATTERNS)
        if re.search(pattern, line)
    }


def scanned_lines(scanner: Scanner, data: bytes) -> set[tuple[int, int]]:
    return {(index, data[: end - 1].count(b"\n")) for index, end in scanner.scan(data)}


SCANNER = Scanner(PATTERNS)
TOKENS = st.sampled_from(
    b"out of memory|Killed|Rank 12 died|Rank |acxxd|bcd|NCCL error|\n| |x|\xff|a|c|d".split(b"|")
)


@given(st.lists(TOKENS, max_size=40).map(b"".join))
def test_it_finds_what_a_naive_search_finds(data: bytes) -> None:
    assert scanned_lines(SCANNER, data) == naive_lines(data)


@given(st.binary(max_size=300))
def test_any_bytes_can_be_scanned(data: bytes) -> None:
    assert scanned_lines(SCANNER, data) == naive_lines(data)


def test_hits_in_all_windows_are_found_once() -> None:
    line = b"Rank 7 died" + b"." * 88 + b"\n"
    data = line * (3 * WINDOW_BYTES // len(line))
    assert len(SCANNER.scan(data)) == data.count(b"\n")


def test_a_line_longer_than_a_window_is_searched_whole() -> None:
    for position in (10, WINDOW_BYTES - 3, WINDOW_BYTES, 3 * WINDOW_BYTES):
        data = b"x" * position + b"out of memory" + b"y" * WINDOW_BYTES
        assert SCANNER.scan(data) == [(0, position + len(b"out of memory"))]


def test_the_overlap_is_longer_than_a_pattern_may_be() -> None:
    assert OVERLAP_BYTES > 64 * 16


def test_hits_come_in_the_order_of_the_text() -> None:
    hits = SCANNER.scan(b"bcd out of memory\nKilled\nnccl error")
    assert hits == sorted(hits, key=lambda hit: hit[1])


def test_a_database_survives_being_written_and_read() -> None:
    restored = Scanner(PATTERNS, SCANNER.to_bytes())
    assert restored.scan(b"out of memory") == SCANNER.scan(b"out of memory")


def test_no_patterns_find_nothing() -> None:
    assert Scanner([], Scanner([]).to_bytes()).scan(b"anything") == []


def test_a_refused_pattern_is_named() -> None:
    with pytest.raises(ValueError, match=r"\(\?=ahead\)"):
        Scanner([b"fine", b"(?=ahead)"])


def test_a_damaged_database_is_refused() -> None:
    with pytest.raises(ValueError, match="not a database"):
        Scanner(PATTERNS, b"damaged")
