import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine import Compiled
from diagnosis.engine.anchors import is_anchored, scan_form
from tests.diagnosis.engine.logs import steps, verdict_on


@pytest.mark.parametrize(
    ("pattern", "scanned"),
    [
        ("^Killed", "Killed"),
        ("Killed$", r"Killed[ \t]{0,16}$"),
        (r"(?:^|\| )Killed", r"(?:|\| )Killed"),
        (r"(?::|$) [$]\$", r"(?::|[ \t]{0,16}$) [$]\$"),
        (r"[^\n]x", r"[^\n]x"),
        (r"[]^]x", r"[]^]x"),
        (r"[^]^]x", r"[^]^]x"),
        (r"\^ here", r"\^ here"),
        (r"[\]^]^x", r"[\]^]x"),
        (r"\\^x", r"\\x"),
    ],
)
def test_only_what_anchors_is_scanned_otherwise(pattern: str, scanned: str) -> None:
    assert scan_form(pattern) == scanned
    assert is_anchored(pattern) == (pattern != scanned)


@given(st.text(r"ab^$|\[]()n", max_size=12))
def test_what_the_pattern_finds_the_scan_finds(pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
        scanned = re.compile(scan_form(pattern))
    except (re.error, FutureWarning):
        return
    for text in ("ab", "^a", "b[a]^", "a\\b"):
        if compiled.search(text):
            assert scanned.search(text)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[pod/trainer-0/main] ",
        "trainer-1  | ",
        "2026-11-30T06:20:17.123456789Z stderr F ",
        "Nov 30 06:20:17 gpu-a-017 trainer[4711]: ",
    ],
)
def test_a_line_starts_behind_its_envelopes(compiled: Compiled, prefix: str) -> None:
    verdict = verdict_on(compiled, f"{prefix}step 1/9 | loss 2.3", f"{prefix}Killed")
    assert verdict.primary.failure.slug == "process-killed-by-sigkill"


def test_a_word_in_the_middle_is_no_start(compiled: Compiled) -> None:
    assert (
        verdict_on(compiled, steps(1, 5), "[pod/a-0/b] nobody was Killed").outcome == "no_failure"
    )


def test_blanks_behind_the_end_of_a_line_are_none_of_it(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, steps(1, 5), "Killed   \t  ")
    assert verdict.primary.failure.slug == "process-killed-by-sigkill"
