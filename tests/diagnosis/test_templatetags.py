from __future__ import annotations

from diagnosis.engine.verdict import FATES
from diagnosis.presentation import LogLinks
from diagnosis.templatetags import diagnosis as tags
from diagnosis.timeline import KINDS

LINKS = LogLinks("abc", ("log.txt",), frozenset({("log.txt", 7)}))


def test_words_are_highlighted_and_everything_is_escaped() -> None:
    assert tags.highlighted("<b>Error</b> error", "ERROR") == (
        "&lt;b&gt;<mark>Error</mark>&lt;/b&gt; <mark>error</mark>"
    )
    assert tags.highlighted("a(b", "(") == "a<mark>(</mark>b"
    assert tags.highlighted("<b>", "") == "&lt;b&gt;"


def test_lines_that_reasons_name_are_linked() -> None:
    assert tags.linking_lines(LINKS, "Line 7 states it; <x> (line 9).") == (
        '<a href="#L7">Line 7</a> states it; &lt;x&gt; '
        '(<a href="/d/abc/log/1/?line=9#L9">line 9</a>).'
    )


def test_lines_of_several_files_are_linked_where_the_file_is_named() -> None:
    links = LogLinks("abc", ("a.log", "b.log"))

    assert tags.linking_lines(links, "Line 7 of b.log, and line 9") == (
        '<a href="/d/abc/log/2/?line=7#F2-L7">Line 7</a> of b.log, and line 9'
    )


def test_file_that_all_evidence_is_in_is_not_named_again() -> None:
    links = LogLinks("abc", ("a.log", "b.log"), home="b.log")

    assert tags.linking_lines(links, "Line 7 of b.log; line 9 of a.log.") == (
        '<a href="/d/abc/log/2/?line=7#F2-L7">Line 7</a>; '
        '<a href="/d/abc/log/1/?line=9#L9">line 9</a> of a.log.'
    )


def test_every_event_has_a_shape_and_every_fate_a_hatching() -> None:
    assert all(tags.mark_shape(kind) for kind in KINDS)
    assert len({tags.fate_hatch(fate) for fate in FATES}) == len(FATES)


def test_marks_that_look_alike_are_explained_together() -> None:
    assert tags.mark_signs(["initiating", "symptom", "consequence", "summary"]) == (
        "◆ failed first; ○ symptom or consequence; □ launcher's report"
    )


def test_ranks_have_their_noun() -> None:
    assert (tags.rank_noun("3"), tags.rank_noun("0, 2")) == ("Rank 3", "Ranks 0, 2")
