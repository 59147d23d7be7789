from __future__ import annotations

from diagnosis.visible import visible, visible_throughout


def test_marks_that_turn_the_direction_of_writing_are_shown() -> None:
    assert visible("\u202egnp.exe\u202c \u2066x\u2069 \u200f") == (
        "<U+202E>gnp.exe<U+202C> <U+2066>x<U+2069> <U+200F>"
    )


def test_what_hides_in_text_is_shown() -> None:
    assert visible("pass\u200bword \ufeff\U000e0041") == "pass<U+200B>word <U+FEFF><U+E0041>"


def test_control_characters_are_pictures() -> None:
    assert visible("a\x00b\x07c\x1b[31m\x7f\x85") == "a␀b␇c␛[31m␡\ufffd"


def test_everything_else_stays() -> None:
    text = "tab\tline\n|████▏ 95% naïve 日本語 👩\u200d💻 עברית"

    assert visible(text) == text


def test_all_strings_of_a_verdict_are_shown() -> None:
    value = {"a": ["\u202ex", {"b": "\x07"}], "n": 3, "none": None, "yes": True}

    assert visible_throughout(value) == {
        "a": ["<U+202E>x", {"b": "␇"}],
        "n": 3,
        "none": None,
        "yes": True,
    }
