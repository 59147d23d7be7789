from __future__ import annotations

from typing import Any

from diagnosis.engine.verdict import FATES
from diagnosis.presentation import LogLinks
from diagnosis.rank_groups import group_ranks
from diagnosis.templatetags import diagnosis as tags
from diagnosis.timeline import KINDS, Timeline, draw
from tests.diagnosis.verdicts import evidence, fate, verdict

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


def timeline_of(*proofs: dict[str, Any]) -> Timeline:
    ranks = [fate(0, "initiated"), fate(1, "aborted_by_peer", first_line=1, last_line=90)]
    of = verdict(ranks, [evidence(20, 0), *proofs], rank=0)
    drawing = draw(of, group_ranks(of["ranks"]), {"log.txt": 100}, lambda *_place: None)
    assert drawing is not None
    return drawing


def test_signs_that_look_alike_are_explained_together() -> None:
    proofs = (evidence(40, 1, role="consequence"), evidence(60, role="symptom"))

    assert tags.signs(timeline_of(*proofs)) == (
        "◆ failed first; ○ symptom or consequence; hatched: after the failure reached it"
    )


def test_sign_of_what_is_close_by_is_explained() -> None:
    assert "│ another, close by" in tags.signs(timeline_of(evidence(22, 0, role="symptom")))
    assert "close by" not in tags.signs(timeline_of(evidence(90, 0, role="symptom")))


def test_things_are_counted_in_words() -> None:
    assert [tags.counted(number, "line") for number in (0, 1, 4098)] == [
        "0 lines",
        "1 line",
        "4,098 lines",
    ]


def test_heading_breaks_within_long_names_and_not_within_the_host() -> None:
    assert tags.headline("a_b/c <x> on rank 2 (gpu-a-019)", "gpu-a-019") == (
        'a_<wbr>b/<wbr>c &lt;x&gt; on rank 2 (<span class="unbroken">gpu-a-019</span>)'
    )
    assert "<span" not in tags.headline("on " + "h" * 99, "h" * 99)
    assert tags.headline("quiet", None) == "quiet"


def test_ranks_have_their_noun() -> None:
    assert (tags.rank_noun("3"), tags.rank_noun("0, 2")) == ("Rank 3", "Ranks 0, 2")


def test_names_in_a_fix_are_shown_as_code_and_everything_is_escaped() -> None:
    assert tags.fix_spans('Set `A=1`, or map_dtype="<b>" with HF_HOME and --offline.') == (
        "Set <code>A=1</code>, or <code>map_dtype=&quot;&lt;b&gt;&quot;</code> with"
        " <code>HF_HOME</code> and <code>--offline</code>."
    )
