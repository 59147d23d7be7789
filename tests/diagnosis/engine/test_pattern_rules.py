import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.pattern_rules import faults


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("open end.*", "open repeat"),
        (r"digits \d+", "open repeat"),
        (r"(?:one|two \S+)", "open repeat"),
        (r"(?:tail )+", "open repeat"),
        (r"runs\sover", "line end"),
        ("[^x]y", "line end"),
        (r"\Dy", "line end"),
        ("a\nb", "line end"),
        (r"a\x00b", "NUL"),
        ("a{1,65}b", "65 times"),
        ("(?:ab){70}c", "70 times"),
        ("(", "no regular expression"),
    ],
)
def test_what_would_slow_or_break_a_scan_is_refused(pattern: str, fault: str) -> None:
    assert any(fault in each for each in faults(pattern)), list(faults(pattern))


@pytest.mark.parametrize(
    "pattern",
    [
        "The node was low on resource: ephemeral-storage",
        r"exitcode {1,4}: -9 \(pid: [0-9]{1,10}\)",
        r"Rank \d+ died$",
        r"[^\n]{0,64}end",
        r"[ \t]+x",
        r"(?i:killed) process \d{1,10}",
        r"a|b|c\d",
    ],
)
def test_a_sound_pattern_passes(pattern: str) -> None:
    assert list(faults(pattern)) == []


@given(st.text("ab.[]()|*+?{}^\\n\\d", max_size=12))
def test_no_pattern_that_passes_matches_across_a_line_end(pattern: str) -> None:
    if not list(faults(pattern)):
        for match in re.finditer(pattern, "ab\nba\naab\n\nbab"):
            assert "\n" not in match[0]
