import pytest

from diagnosis.engine import Compiled
from diagnosis.engine.copied import as_printed, without_escaped_ends
from tests.diagnosis.engine.logs import announced, of_rank, verdict_on

FRAME = b'  File "/app/train.py", line 42, in <module>\n    run("x")\n'


def test_typeset_quotes_and_blanks_are_plain_again() -> None:
    text = "KeyError:\u00a0\u2018mask\u2019 in \u201cbatch\u201d\u200b\n\u2003x".encode()
    assert as_printed(text) == b"KeyError: 'mask' in \"batch\"\n x"


def test_entities_are_the_marks_that_they_stand_for() -> None:
    escaped = (
        b"  File &quot;/app/train.py&quot;, line 42, in &lt;module&gt;\n    run(&#x27;x&#x27;)\n"
    )
    assert as_printed(escaped) == FRAME.replace(b'"x"', b"'x'")


@pytest.mark.parametrize(
    "text",
    [
        b"a &lt;b&gt; that the page &quot;printed&quot; in <module>\n",
        b"only &amp; one\n",
        b"[multiproc_executor.py:379] [missing ranks: 1] [m\n" * 9,
        b"[33m 12s elapsed] [36m 0s]\n" * 9,
        "caf\u00e9 100%|\u2588\u2588| \U0001f3d6\ufe0f\n".encode(),
        b"caf\xe9 in latin-1: \xa0\x92\n",
    ],
)
def test_what_was_printed_so_stays_the_same_object(text: bytes) -> None:
    assert as_printed(text) is text


def test_marks_of_masking_are_no_marks_of_a_page() -> None:
    text = b"&quot;x&quot; &lt;y&gt; at <ip-1>\n"
    assert as_printed(text) == b'"x" <y> at <ip-1>\n'


def test_colours_that_lost_their_escape_are_cut() -> None:
    text = b"[31;1mERROR[0m [38;5;208m[rank3][0m: KeyError[39m\n"
    assert as_printed(text) == b"ERROR [rank3]: KeyError\n"


def test_a_string_with_escaped_ends_is_lines() -> None:
    text = FRAME * 3
    string = text.replace(b'"', b'\\"').replace(b"\n", b"\\n")
    assert without_escaped_ends(string) == text.replace(b"\n", b"\r")
    assert without_escaped_ends(text) is text
    mixed = text + b'{"a": "x\\ny"}\n' * 3
    assert without_escaped_ends(mixed) is mixed


def test_line_numbers_stay_those_of_the_paste(compiled: Compiled) -> None:
    log = "\n".join((announced(2), "a", "b", "c", of_rank(1, "KeyError: 'mask'"), ""))
    string = log.replace("\n", "\\n")
    one = verdict_on(compiled, string)
    assert (one.primary.failure.slug, one.primary.rank) == ("python-key-error", 1)
    assert {each.line for each in one.primary.evidence} == {1}


def test_a_frame_without_its_indent_is_followed_by_code(compiled: Compiled) -> None:
    error = of_rank(1, "KeyError: 'mask'").replace("]:   ", "]: ").replace("]:   ", "]: ")
    assert "]:  " not in error
    verdict = verdict_on(compiled, announced(2), error)
    assert (verdict.primary.failure.slug, verdict.primary.rank) == ("python-key-error", 1)
