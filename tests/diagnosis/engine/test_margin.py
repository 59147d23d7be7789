import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine import Compiled
from diagnosis.engine.margin import without_margin
from tests.diagnosis.engine.logs import announced, of_rank, verdict_on

LOG = b"one\n  two\n\n\tthree\n" + b"four\n" * 6


def marked(margin: str, log: bytes = LOG) -> bytes:
    return b"".join(margin.encode() + line for line in log.splitlines(keepends=True))


@pytest.mark.parametrize("margin", ["    ", "\t", "> ", ">> ", "    > ", ">     "])
def test_a_margin_is_cut(margin: str) -> None:
    assert without_margin(marked(margin)) == LOG


def test_a_blank_line_needs_no_margin() -> None:
    assert without_margin(b"  one\n\n" + b"  two\n" * 7) == b"one\n\n" + b"two\n" * 7
    assert without_margin(b"> one\n>\n\n> two\n") == b"one\n\n\ntwo\n"


def test_numbers_of_lines_are_cut() -> None:
    numbered = "".join(f"{number:6}\t{line}\n" for number, line in enumerate("abc1", start=9))
    assert without_margin(numbered.encode()) == b"a\nb\nc\n1\n"


@pytest.mark.parametrize(
    "log",
    [
        b"one\n  two\n",
        b"  one\ntwo\n",
        b"> one\ntwo\n",
        b">>> import torch\nx\n",
        b"1\ta\n3\tb\n4\tc\n",
        b"1\ta\n",
        b"  rank      : 3\n  exitcode  : 1\n",
        b"",
        b"\n",
    ],
)
def test_what_does_not_stand_on_every_line_is_no_margin(log: bytes) -> None:
    assert without_margin(log) is log


def test_a_line_far_down_without_it_keeps_the_margin() -> None:
    log = b"  one\n" * 9000 + b"two\n"
    assert without_margin(log) is log


@given(st.text(" \t>1\na", max_size=30))
def test_no_line_is_gained_or_lost(text: str) -> None:
    data = text.encode()
    assert without_margin(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize("margin", ["    ", "> "])
def test_a_quoted_log_is_read_as_it_was(compiled: Compiled, margin: str) -> None:
    log = "\n".join((announced(2), of_rank(1, "KeyError: 'mask'")))
    verdict = verdict_on(compiled, marked(margin, log.encode()).decode())
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 1)
