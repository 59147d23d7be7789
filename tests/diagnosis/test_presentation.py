from __future__ import annotations

import pytest

from diagnosis import presentation
from diagnosis.engine.mask_files import KINDS
from diagnosis.engine.probes import STACK
from diagnosis.engine.verdict import CONFIDENCES, FATES, OUTCOMES, RANK_BASES
from diagnosis.presentation import LogLinks


def test_every_code_of_a_verdict_has_its_words() -> None:
    assert set(presentation.OUTCOMES) == set(OUTCOMES)
    assert set(presentation.CONFIDENCES) == set(CONFIDENCES)
    assert set(presentation.RANK_BASES) == set(RANK_BASES)
    assert set(presentation.FATES) == set(FATES)
    assert set(presentation.KINDS) == set(KINDS)


def test_words_of_fates_differ() -> None:
    assert len(set(presentation.FATES.values())) == len(FATES)


def test_every_placeholder_of_a_command_is_named_once() -> None:
    fix = {
        "command": "torchrun --nproc-per-node '<gpus per node>' '<train.py>' 2>&1 | tee '<log>'",
        "verify": "sort <in >out; jq . '<shard-0.jsonl>' && grep x '<log>'",
    }

    names = presentation._placeholders(fix)

    assert names == ("<gpus per node>", "<train.py>", "<log>", "<shard-0.jsonl>")


def test_clocks_that_agree_are_not_spoken_of() -> None:
    assert presentation._skews({"node-1": 0.0, "node-2": -0.003}) == ""
    assert presentation._skews({"node-1": 0.0, "node-2": -3.2}) == "node-2 3.2 s behind"


def test_clocks_that_are_furthest_out_are_named() -> None:
    skews = {f"node-{n}": float(n) for n in range(1, 9)}

    assert presentation._skews(skews) == (
        "node-8 8 s ahead, node-7 7 s ahead, node-6 6 s ahead, 5 more by less"
    )


def test_reasons_against_other_failures_are_told_apart() -> None:
    why = (
        "Line 64 states the cause itself. Rank 6 is named by the launcher."
        " Gloo Peer Closed on ranks 5, 7 follows from it. Peer Lost says less."
    )

    ours, others = presentation._why_parts(why, {"lost": "Peer Lost", "gloo": "Gloo Peer Closed"})

    assert ours == "Line 64 states the cause itself. Rank 6 is named by the launcher."
    assert [(each.slug, each.words) for each in others] == [
        ("gloo", "on ranks 5, 7 follows from it."),
        ("lost", "says less."),
    ]
    assert presentation._why_parts(why, {}) == (why, ())
    assert presentation._why_parts("", {"lost": "Peer Lost"}) == ("", ())


def test_place_in_the_code_is_parted_from_the_summary() -> None:
    told = presentation.headline_of("E: f(x) (raised at a (1).py:12 in f) on rank 2. Unknown.")

    assert told.text == "E: f(x) on rank 2. Unknown."
    assert (told.message, told.raised_at) == ("E: f(x)", "a (1).py:12 in f")
    assert presentation.headline_of("Disk full.").text == "Disk full."
    assert presentation.headline_of("Disk full.").raised_at == ""


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("06:00", "06:30", "06:00\n– 06:30"),
        ("06:00", "06:00", "06:00"),
        ("06:00", "", "from 06:00"),
        ("", "06:30", "until 06:30"),
        ("", "", ""),
    ],
)
def test_one_stamp_says_of_which_end_it_is(first: str, last: str, words: str) -> None:
    assert presentation._times_in_words(first, last) == words


def test_parts_of_the_stack_have_their_names() -> None:
    assert set(presentation.STACK_NAMES) == {probe.part for probe in STACK}


def test_lines_that_the_page_shows_are_linked_within_it() -> None:
    links = LogLinks("abc", ("log.txt", "rank_1.log"), frozenset({("log.txt", 7)}))

    assert links.to("log.txt", 7) == "#L7"
    assert links.to("log.txt", 8) == "/d/abc/log/1/?line=8#L8"
    assert links.to("rank_1.log", 7) == "/d/abc/log/2/?line=7#F2-L7"
    assert links.to("elsewhere.log", 7) == "#log"


def test_file_is_named_where_it_is_not_the_one_with_the_evidence() -> None:
    links = LogLinks("abc", ("log.txt", "rank_1.log"), home="log.txt")

    assert links.place("log.txt", 7).other_file == ""
    assert links.place("rank_1.log", 7).other_file == "rank_1.log"
