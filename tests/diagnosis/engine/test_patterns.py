from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.patterns import BytePattern, BytePatternSet, PatternError


def test_groups_that_took_part_come_by_name() -> None:
    found = BytePattern(r"(?P<left>a+)(?P<right>b+)?").search(b"xaac")
    assert found is not None
    assert (found.start, found.end, found.groups) == (1, 3, {"left": b"aa"})


def test_the_front_the_whole_and_anywhere_are_told_apart() -> None:
    pattern = BytePattern("b")
    assert pattern.match(b"ab") is None
    assert pattern.fullmatch(b"bb") is None
    assert pattern.search(b"ab") is not None
    assert pattern.search(b"ab", 2) is None


def test_every_byte_is_a_character() -> None:
    found = BytePattern("(?P<all>.*)").match(b"\xff\x00\xe2")
    assert found is not None
    assert found.groups["all"] == b"\xff\x00\xe2"


def test_text_beyond_ascii_stands_for_its_bytes() -> None:
    assert BytePattern("█+").match("██".encode()) is not None


@pytest.mark.parametrize("pattern", ["(", "[a", r"(?=x)", r"(a)\1", "a{2000}"])
def test_what_is_not_re2_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        BytePattern(pattern)


PATTERNS = ["a", "ab", r"\d+x", "[^a]b", "(?:a|b)c", ""]


@given(st.binary(max_size=12))
def test_a_set_finds_what_its_patterns_find_one_by_one(text: bytes) -> None:
    one_by_one = [
        index
        for index, pattern in enumerate(PATTERNS)
        if re.compile(pattern.encode(), re.DOTALL).match(text)
    ]
    assert BytePatternSet(PATTERNS).matches(text) == one_by_one
