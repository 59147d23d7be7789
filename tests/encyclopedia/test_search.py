"""A word, a code or a line of a log finds its page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from diagnosis.engine import LogFile, diagnose
from diagnosis.engine.hypotheses import UNDECIDED
from diagnosis.preloaded import compiled
from encyclopedia import sync
from encyclopedia.catalogue import Catalogue, load
from encyclopedia.management.commands.measure_search import (
    first_slug,
    questions_in_file,
    questions_of_cases,
    questions_of_catalogue,
)
from encyclopedia.search import LONGEST_QUERY, MOST_CHARACTERS, find, suggest
from encyclopedia.wordings import telling_line

pytestmark = pytest.mark.usefixtures("failures")

SHORT_QUERIES = Path(__file__).parent / "short_queries.yaml"
CASES = Path(__file__).parent.parent / "cases"
asks_the_small_engine = pytest.mark.usefixtures("_asks_the_small_engine")


def found(text: str) -> list[str]:
    result = find(text)
    exact = (result.exact,) if result.exact else ()
    return [failure.slug for failure in (*exact, *result.stated, *result.hits)]


def suggested(text: str) -> list[str]:
    return [failure.slug for failure in suggest(text)]


def test_it_works() -> None:
    assert found("disk space") == ["scratch-disk-full"]


@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 28] No space left on device",
        "2026-11-30 10:00:01 rank 3 OSError: [Errno 28] No space left on device: '/data/x.pt'",
        "no space left",
    ],
)
def test_a_line_of_a_log_finds_its_failure_first(line: str) -> None:
    assert found(line)[0] == "scratch-disk-full"


def test_a_line_that_holds_the_message_states_its_failure() -> None:
    result = find("[rank3]: 10:00:01 oserror: [errno 28] No space left on device: '/data/x.pt'")

    assert [failure.slug for failure in result.stated] == ["scratch-disk-full"]
    assert "scratch-disk-full" not in [failure.slug for failure in result.hits]


def test_a_message_that_leaves_a_value_open_is_stated_by_no_words_alone(
    small_catalogue: Catalogue,
) -> None:
    disk = small_catalogue.failures["scratch-disk-full"]
    open_message = replace(disk, message="… left on device")
    sync.load_failures(Catalogue({**small_catalogue.failures, disk.slug: open_message}))
    assert find("rank 3 has 4 GiB left on device").stated == ()
    assert found("… left on device")[0] == disk.slug


@pytest.mark.django_db
def test_a_message_with_an_open_value_finds_its_page_as_its_page_gives_it() -> None:
    catalogue = load()
    sync.load_failures(catalogue)
    given = [each for each in catalogue if "…" in (each.message or "")]
    assert len(given) > 10
    for failure in given:
        assert found(failure.message or "")[0] == failure.slug


# The engine


@asks_the_small_engine
def test_a_line_that_a_signature_knows_is_an_exact_hit() -> None:
    exact = find("[rank3]: OSError: [Errno 28] No space left on device: '/a/b'").exact
    assert exact is not None
    assert exact.slug == "scratch-disk-full"


@pytest.mark.django_db
def test_a_line_that_two_pages_claim_leads_straight_to_neither() -> None:
    catalogue = load()
    sync.load_failures(catalogue)
    claimed = list(_lines_of_two_pages(catalogue))
    assert len(claimed) > 1
    for line, pages in claimed:
        result = find(line)
        assert result.exact is None, line
        assert pages <= {failure.slug for failure in result.stated}, line


def _lines_of_two_pages(catalogue: Catalogue) -> Iterator[tuple[str, set[str]]]:
    """Yield the texts that the engine finds two failures to print, with both."""
    signatures = [each for failure in catalogue for each in failure.signatures]
    for text in dict.fromkeys(text for each in signatures for text in each.matches):
        verdict = diagnose([LogFile("search", text.encode())], compiled())
        others = {each.failure for each in verdict.hypotheses if each.against == UNDECIDED}
        if others and verdict.primary and verdict.primary.failure and len(text) <= LONGEST_QUERY:
            yield text, {verdict.primary.failure.slug, *others}


@asks_the_small_engine
def test_of_two_failures_in_a_text_the_root_comes_first() -> None:
    result = find(
        "[rank3]: OSError: [Errno 28] No space left on device\n"
        "[rank1] Connection closed by remote peer\n"
    )
    assert result.exact is None
    assert [failure.slug for failure in result.stated] == ["scratch-disk-full", "peer-closed"]


@asks_the_small_engine
def test_a_whole_traceback_finds_its_failure_also_as_one_line() -> None:
    frames = "Traceback (most recent call last):\n" + '  File "a.py", line 1, in f\n' * 10
    traceback = f"{frames}OSError: [Errno 28] No space left on device: '/a/b'"
    for text in (traceback, " ".join(traceback.split())):
        assert found(text)[0] == "scratch-disk-full"


@asks_the_small_engine
def test_a_failure_that_was_not_loaded_yet_is_left_out() -> None:
    from encyclopedia.models import Failure

    Failure.objects.filter(slug="scratch-disk-full").delete()
    assert "scratch-disk-full" not in found("OSError: [Errno 28] No space left on device")


@pytest.mark.django_db
def test_search_puts_the_right_page_first_for_the_texts_of_the_catalogue() -> None:
    catalogue = load()
    sync.load_failures(catalogue)
    questions = list(questions_of_catalogue(catalogue))
    missed = [q.text for q in questions if first_slug(find(q.text)) not in q.right]
    assert len(missed) <= 0.05 * len(questions), missed


@pytest.mark.django_db
def test_search_finds_most_lines_that_the_catalogue_was_not_written_from() -> None:
    """Some lines of evidence say nothing by themselves, such as `rank : 2 (local_rank: 2)`."""
    catalogue = load()
    sync.load_failures(catalogue)
    questions = list(questions_of_cases(CASES, catalogue))
    right = sum(first_slug(find(q.text)) in q.right for q in questions)
    assert right >= 0.7 * len(questions)


@pytest.mark.django_db
def test_a_short_query_finds_the_page_that_is_wanted() -> None:
    sync.load_failures(load())
    questions = list(questions_in_file(SHORT_QUERIES))
    first = [q for q in questions if first_slug(find(q.text)) in q.right]
    near = [q for q in questions if q.right & {*found(q.text)[:3]}]
    assert len(first) >= 0.8 * len(questions)
    assert len(near) >= 0.92 * len(questions)


# The order of what is found


def changed(small_catalogue: Catalogue, **titles: str) -> None:
    failures = {
        failure.slug: replace(failure, title=titles.get(failure.slug.replace("-", "_"), ""))
        for failure in small_catalogue
    }
    sync.load_failures(Catalogue(failures))


def test_a_title_that_says_no_more_than_the_question_comes_first(
    small_catalogue: Catalogue,
) -> None:
    changed(
        small_catalogue,
        peer_closed="Loss Spike",
        scratch_disk_full="Loss Spike of a Run That Writes Its Checkpoints to a Shared Folder",
    )
    assert found("spike of loss") == ["peer-closed", "scratch-disk-full"]


def test_a_general_failure_comes_before_its_kind(small_catalogue: Catalogue) -> None:
    failures = {
        failure.slug: replace(failure, title=f"Loss Spike {number}")
        for number, failure in enumerate(small_catalogue)
    }
    for general, kind in (
        ("peer-closed", "scratch-disk-full"),
        ("scratch-disk-full", "peer-closed"),
    ):
        edge = {kind: replace(failures[kind], kind_of=general)}
        sync.load_failures(Catalogue(failures | edge))
        assert found("loss spike").index(general) < found("loss spike").index(kind)


@pytest.mark.parametrize("query", ["oom", "out of memory", "OutOfMemoryError"])
def test_words_for_one_thing_find_the_same(query: str, small_catalogue: Catalogue) -> None:
    changed(small_catalogue, peer_closed="Out of Memory")
    assert found(query)[0] == "peer-closed"


def test_a_number_need_not_stand_on_the_page(small_catalogue: Catalogue) -> None:
    changed(small_catalogue, peer_closed="A Rank Vanished")
    assert found("rank 3 died")[0] == "peer-closed"


# Codes


@pytest.fixture
def coded(failures: Catalogue, small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    changed = replace(failure, codes=("ENOSPC", "exit 74"))
    sync.load_failures(Catalogue({**small_catalogue.failures, failure.slug: changed}))


@pytest.mark.parametrize("code", ["ENOSPC", "enospc", "[Errno 28]", "exit code 74", "exit-74"])
@pytest.mark.usefixtures("coded")
def test_a_code_is_an_exact_hit(code: str) -> None:
    exact = find(code).exact
    assert exact is not None
    assert exact.slug == "scratch-disk-full"


def test_words_of_another_title_are_no_code(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-quota-exceeded"]
    changed = replace(failure, codes=("DISK_FULL", "quotaError"))
    sync.load_failures(Catalogue({**small_catalogue.failures, failure.slug: changed}))
    assert found("DISK_FULL") == found("quota error") == ["scratch-quota-exceeded"]
    assert found("disk full")[0] == suggested("disk full")[0] == "scratch-disk-full"


@pytest.mark.usefixtures("coded")
def test_a_code_that_no_page_has_is_said_to_be_unknown_beside_those_of_its_kind() -> None:
    result = find("exit code 253")
    assert result.unknown is not None
    assert result.unknown.label == "exit code 253"
    assert [code.label for code in result.unknown.known] == ["exit 74"]
    assert found("exit code 253") == []


@pytest.mark.usefixtures("coded")
def test_a_code_within_a_sentence_states_its_failure() -> None:
    result = find("container ends with exit code 74 again")
    assert [failure.slug for failure in result.stated] == ["scratch-disk-full"]


# Words


def test_the_words_of_gated_sections_are_not_found() -> None:
    """`-mtime` stands in Fix alone."""
    assert find("mtime").hits == ()


@pytest.mark.parametrize("part", ["OutOfMemoryError", "OutOfMemory", "torch.cuda.OutOfMemoryError"])
def test_the_parts_of_a_name_are_found(part: str, small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["peer-closed"]
    changed = replace(failure, message="torch.cuda.OutOfMemoryError")
    sync.load_failures(Catalogue({**small_catalogue.failures, "peer-closed": changed}))
    assert found(part)[0] == "peer-closed"


def test_a_misspelt_word_is_put_right() -> None:
    result = find("scrach disc fulll")
    assert result.corrected == "scratch disk full"
    assert result.hits[0].slug == "scratch-disk-full"


def test_misspelt_words_that_no_page_has_all_of_find_the_page_with_most() -> None:
    assert "scratch-quota-exceeded" in found("quot exeded scr")


@pytest.mark.parametrize("text", ["asdfghjkl", "' OR 1=1 --", "quota of brainwaves and zebras"])
def test_nothing_is_near_where_a_page_has_less_than_half_of_the_words(text: str) -> None:
    assert found(text) == []


# Suggestions


@pytest.mark.parametrize("typed", ["scr", "scratch d", "scratch disk fu", "left on dev", "SPACE"])
def test_the_beginning_of_a_word_is_enough(typed: str) -> None:
    assert suggested(typed)[0] == "scratch-disk-full"


@pytest.mark.usefixtures("coded")
def test_a_code_is_suggested_first() -> None:
    assert suggested("exit 74")[0] == "scratch-disk-full"


def test_a_typing_error_is_forgiven() -> None:
    assert suggested("scrach disk ful")[0] == "scratch-disk-full"


@pytest.mark.parametrize("text", ["", " ", "'", "a:*", "\\", "\0", "& | !", "💥", "x" * 5000])
def test_whatever_is_being_typed_is_answered(text: str) -> None:
    assert len(suggested(text)) <= 7


def test_a_suggestion_takes_few_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_max_num_queries(2):
        suggest("scratch disk")


# Words of a message


def test_a_hyphen_excludes_nothing() -> None:
    """`exitcode: -9` asks for pages with a 9."""
    assert found("-space -left")[0] == "scratch-disk-full"


def test_a_message_counts_more_than_a_mention() -> None:
    """Its look-alike is named in the text of the other, and is found by its own words first."""
    assert found("quota exceeded")[0] == "scratch-quota-exceeded"


def test_any_word_will_do_where_no_page_has_all() -> None:
    result = find("quota brainwave")
    assert not result.has_all_words
    assert result.hits[0].slug == "scratch-quota-exceeded"


@pytest.mark.parametrize(
    "name", ["Scratch Disk Full During a Save", "scratch-disk-full", "disk-full", "Disk Full"]
)
def test_a_name_is_an_exact_hit(name: str) -> None:
    exact = find(name).exact
    assert exact is not None
    assert exact.slug == "scratch-disk-full"


@pytest.mark.parametrize(
    "text", ["zzz", "'", '"', "&|!:*", "\0", "the", "-", "💥", "a\n\nb", "-" * 60, "-" * 60 + "x"]
)
def test_whatever_is_typed_is_answered(text: str) -> None:
    assert find(text).exact is None


def test_a_whole_log_is_cut() -> None:
    assert len(find("word " * 100_000).query) <= MOST_CHARACTERS


def test_of_a_long_text_the_whole_lines_at_its_end_are_looked_for() -> None:
    query = find("a line of the beginning\n" * 400 + "zzzz at the end").query
    assert query.startswith("a line of the beginning a line")
    assert query.endswith("a line of the beginning zzzz at the end")


def test_of_one_long_line_whole_words_are_looked_for() -> None:
    assert set(find("beginning " * 1000 + "end").query.split()) == {"beginning", "end"}


# Letter by letter

COMPOUND = re.compile(r"(?<!\S)[\w~/.:-]*[/.:~][\w~/.:-]*\w(?!\S)")
# Each stands on a page, and PostgreSQL reads some as one name, some as several words.
NAMES_ON_PAGES = (
    *("/dev/shm", "ProcessGroupNCCL.cpp", "pair.cc", "socket.cc", "torch.distributed.elastic"),
    *("CUDACachingAllocator.cpp", "net_ib.cc", "tf.config", "ds_config.json", "nccl.h"),
    *("/etc/munge/munge.key", "~/.cache/huggingface", "PROCESSGROUPNCCL.CPP", "dev/shm too"),
)


@pytest.mark.django_db
def test_what_stands_on_a_page_is_found_however_it_is_put_together() -> None:
    catalogue = load()
    sync.load_failures(catalogue)
    texts = [f"{failure.title} {failure.message} {telling_line(failure)}" for failure in catalogue]
    names = {*NAMES_ON_PAGES, *(name for text in texts for name in COMPOUND.findall(text))}
    assert len(names) > 100
    results = [find(name) for name in sorted(names)]
    denied = [r.query for r in results if not (r.exact or r.stated or r.has_all_words)]
    assert denied == []


@pytest.mark.parametrize(
    "text", ["/srv/zoo", "mosaic.cc", "zoo.config", "~/.zoo", "zoo.Keeper::lost"]
)
def test_name_of_several_parts_is_found_where_it_stands_in_front_of_where_its_parts_do(
    text: str, small_catalogue: Catalogue
) -> None:
    failures = dict(small_catalogue.failures)
    parts = " ".join(re.findall(r"\w+", text))
    for slug, said in (("peer-closed", f"See `{text}`."), ("scratch-disk-full", f"See {parts}.")):
        section = replace(failures[slug].sections[0], markdown=said)
        failures[slug] = replace(failures[slug], sections=(section, *failures[slug].sections[1:]))
    sync.load_failures(Catalogue(failures))
    result = find(text.upper())
    assert result.has_all_words
    assert result.hits[0].slug == "peer-closed"


@pytest.mark.parametrize(
    "text", ["heckpoi", "df -h /scr", "node_filesystem_avail", "number is 122"]
)
def test_a_piece_of_a_word_or_of_a_fact_is_found_where_it_stands(text: str) -> None:
    """Facts, fixes and differences are in no index, and pieces of words are no words."""
    result = find(text)
    assert result.has_all_words
    assert result.corrected is None


def test_of_gated_sections_no_letter_is_found() -> None:
    assert not find("def keep_last(paths").has_all_words


def test_text_without_a_word_is_said_to_have_none(client: Client) -> None:
    assert not find("':/.").has_words
    assert "There is no word in <q>-</q> to look for" in client.get("/failures/?q=-").text
