import pytest

from diagnosis.engine import Compiled
from diagnosis.engine.paragraphs import is_paragraph, parts
from tests.diagnosis.engine.logs import traceback, verdict_on

WHILE = "During handling of the above exception, another exception occurred:"


def paragraph(*tracebacks: str, blank: str = " ") -> str:
    lines = f"\n{WHILE}\n".join(tracebacks).splitlines()
    return " ".join(line.strip() if blank == " " else line for line in lines)


def test_it_works() -> None:
    (part,) = parts(paragraph(traceback("ValueError: no rows")).encode())
    assert (part.type, part.message) == (b"ValueError", b"no rows")
    assert part.frames.count(b"File ") == 2


def test_exceptions_that_python_joined_are_told_apart() -> None:
    text = paragraph(traceback("KeyError: 'a'"), traceback("OSError: b"))
    assert [part.raised for part in parts(text.encode())] == [b"KeyError: 'a'", b"OSError: b"]


def test_a_paragraph_that_is_cut_has_frames_alone() -> None:
    (part,) = parts(paragraph(traceback("ValueError: x")).partition("ValueError")[0].encode())
    assert (part.raised, part.frames.count(b"File ")) == (b"", 2)


@pytest.mark.parametrize(
    "line",
    ["Traceback (most recent call last):", "Traceback (most recent call last): (RANK 3)", ""],
)
def test_a_header_alone_is_no_paragraph(line: str) -> None:
    assert not is_paragraph(line.encode())


@pytest.mark.parametrize("blank", [" ", ""])
def test_a_paragraph_is_diagnosed_as_its_lines_were(compiled: Compiled, blank: str) -> None:
    verdict = verdict_on(compiled, paragraph(traceback("KeyError: 'mask'"), blank=blank))
    assert (verdict.outcome, verdict.primary.failure.slug) == ("established", "python-key-error")


def test_an_unknown_exception_in_a_paragraph_has_its_frame(compiled: Compiled) -> None:
    verdict = verdict_on(compiled, paragraph(traceback("ZarrBoomError: chunk 12 is odd")))
    for told in ("ZarrBoomError: chunk 12 is odd", "/app/train.py:42"):
        assert told in verdict.primary.summary
