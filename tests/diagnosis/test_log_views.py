"""The masked log in parts, the opening of gaps, and the search."""

from __future__ import annotations

import datetime as dt
import html
import re
from http import HTTPStatus

import pytest
from django.test import Client
from django.utils import timezone

from diagnosis import store
from diagnosis.store import StoreUnavailableError
from tests.diagnosis.conftest import Answered, MakeJob, case_log

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

CRASH = b"[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'labels'\n"
STEPS = b"".join(b"step %d loss 0.5\n" % n for n in range(1, 2501))
LONG = STEPS + CRASH + STEPS


def numbers(page: str) -> list[int]:
    return [int(each) for each in re.findall(r'<li id="(?:F\d+-)?L(\d+)"', page)]


def chosen(page: str) -> list[int]:
    return [int(each) for each in re.findall(r'<li id="L(\d+)" class="log-chosen"', page)]


def text_of(page: str) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", page).split()))


def show(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == HTTPStatus.OK
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    return response.text


def missing(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == HTTPStatus.NOT_FOUND
    assert response["Cache-Control"] == "private, no-store"
    assert "expired" not in response.text
    assert "There is no diagnosis" not in response.text
    return response.text


class TestPage:
    def test_it_works(self, client: Client, answered: Answered) -> None:
        page = show(client, f"/d/{answered(LONG).pk}/log/1/")

        assert numbers(page) == list(range(1, 1001))
        assert "Lines 1 to 1000 of 5002" in text_of(page)
        assert page.count("<h1") == 1
        assert 'rel="next"' in page
        assert 'rel="prev"' not in page

    def test_part_with_the_line_asked_for_is_shown(
        self, client: Client, answered: Answered
    ) -> None:
        page = show(client, f"/d/{answered(LONG).pk}/log/1/?line=2502")

        assert numbers(page) == list(range(2001, 3001))
        assert '<li id="L2502" class="log-evidence">' in page
        assert "cause · rank 1" in text_of(page)

    def test_run_of_lines_is_chosen(self, client: Client, answered: Answered) -> None:
        job = answered(LONG)

        assert chosen(show(client, f"/d/{job.pk}/log/1/?lines=10-20")) == list(range(10, 21))
        assert chosen(show(client, f"/d/{job.pk}/log/1/?lines=12-10")) == [10, 11, 12]

    @pytest.mark.parametrize("query", ["line=99999999", "line=5002", "lines=5002-5003"])
    def test_line_behind_the_end_shows_the_end(
        self, client: Client, answered: Answered, query: str
    ) -> None:
        page = show(client, f"/d/{answered(LONG).pk}/log/1/?{query}")

        assert numbers(page)[-1] == 5002
        assert 'rel="next"' not in page

    @pytest.mark.parametrize("query", ["line=0", "line=-3", "line=x", "lines=7", "line=%00"])
    def test_what_is_no_line_shows_the_beginning(
        self, client: Client, answered: Answered, query: str
    ) -> None:
        assert numbers(show(client, f"/d/{answered(LONG).pk}/log/1/?{query}"))[0] == 1

    def test_strip_leads_to_marked_lines_on_other_pages(
        self, client: Client, answered: Answered
    ) -> None:
        job = answered(LONG)

        assert f'<a href="/d/{job.pk}/log/1/?line=2502#L2502" aria-label="Line 2502' in show(
            client, f"/d/{job.pk}/log/1/"
        )
        assert '<a href="#L2502" aria-label="Line 2502' in show(
            client, f"/d/{job.pk}/log/1/?line=2502"
        )

    def test_strip_marks_the_lines_that_hold_the_words_looked_for(
        self, client: Client, answered: Answered
    ) -> None:
        page = show(client, f"/d/{answered(LONG).pk}/log/1/?q=STEP+1234+loss")

        assert page.count("gutter-tick--found") == 2
        assert "line 1234 (holds the words)" in page.lower()
        assert 'gutter-tick--cause"' in page

    def test_endless_line_is_cut_and_the_page_says_so(
        self, client: Client, answered: Answered
    ) -> None:
        job = answered(CRASH + b"x" * 300_000 + b"\n")
        page = show(client, f"/d/{job.pk}/log/1/")

        assert len(page) < 20_000
        assert "more than 2000 characters is cut here" in text_of(page)

    def test_second_file_has_anchors_of_its_own(self, client: Client, answered: Answered) -> None:
        page = show(client, f"/d/{answered(STEPS, CRASH * 5).pk}/log/2/")

        assert '<li id="F2-L1"' in page

    def test_hostile_lines_are_shown_as_text(self, client: Client, answered: Answered) -> None:
        line = b"<script>alert(1)</script><img src=x onerror=alert(2)>\xe2\x80\xae{{ 7|add:7 }}\n"
        page = show(client, f"/d/{answered(line + CRASH).pk}/log/1/?q=%3Cscript%3E")

        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<mark>&lt;script&gt;</mark>" in page
        assert "\u202e" not in page

    @pytest.mark.parametrize(
        ("query", "words"),
        [
            ("line=99999", "There is no line 99999: the file's end is shown."),
            ("lines=6000-6009", "There are no lines 6000-6009: the file's end is shown."),
            ("lines=5000-5009", "Of the lines 5000-5009 the file has those up to line 5002."),
            ("line=0", "“0” is no line number: the file's beginning is shown."),
            ("line=%00", "“\N{SYMBOL FOR NULL}” is no line number"),
            (f"line={'9' * 41}", f"“{'9' * 40}…” is no line number"),
        ],
    )
    def test_line_that_is_not_there_is_said_to_be_none(
        self, client: Client, answered: Answered, query: str, words: str
    ) -> None:
        assert words in text_of(show(client, f"/d/{answered(LONG).pk}/log/1/?{query}"))

    @pytest.mark.parametrize("query", ["", "line=", "line=5002", "lines=1-5002", "q=loss"])
    def test_line_that_is_there_meets_no_objection(
        self, client: Client, answered: Answered, query: str
    ) -> None:
        assert "callout" not in show(client, f"/d/{answered(LONG).pk}/log/1/?{query}")

    def test_store_that_does_not_answer_is_a_503(
        self, client: Client, answered: Answered, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = answered(CRASH * 9)

        def away(_job_id: str) -> None:
            raise StoreUnavailableError("TimeoutError")

        monkeypatch.setattr(store, "read_log", away)
        for path in ("log/", "log/1/", "log/1.txt", "log/1/lines/?gap=1-9&part=1-9", ""):
            response = client.get(f"/d/{job.pk}/{path}", {"q": "x"} if path == "log/" else {})
            assert response.status_code == HTTPStatus.SERVICE_UNAVAILABLE, path

    def test_sample_says_that_it_is_one(self, client: Client) -> None:
        assert "<title>SAMPLE: " in show(client, "/d/sample-killed-rank/log/1/")
        assert "<title>SAMPLE: " in show(client, "/d/sample-killed-rank/log/?q=error")


NO_FILE = ("log/0/", "log/2/", "log/0.txt", "log/2.txt", "log/2/lines/?gap=1-2&part=1-2")
NO_LINES = ("", "?gap=1-9&part=1-9x", "?gap=1-2&part=1-3", "?gap=1-9&part=8-9", "?gap=3-9&part=1-2")


class TestNotThere:
    """A part that a diagnosis has not is never told as the end of the diagnosis."""

    @pytest.mark.parametrize("path", [*NO_FILE, *(f"log/1/lines/{query}" for query in NO_LINES)])
    def test_the_verdict_is_there_as_before(
        self, client: Client, answered: Answered, path: str
    ) -> None:
        job = answered(CRASH)

        page = missing(client, f"/d/{job.pk}/{path}")

        assert f'<a class="button" href="/d/{job.pk}/">Open the verdict</a>' in page
        number = re.sub(r"\D", "", path.partition("/lines")[0])
        told = f"There is no file {number} in this diagnosis" if path in NO_FILE else "no lines"
        assert told in text_of(page)
        assert client.get(f"/d/{job.pk}/").status_code == HTTPStatus.OK

    @pytest.mark.parametrize("path", ["log/", "log/1/", "log/1.txt", "log/1/lines/", "feedback/"])
    @pytest.mark.parametrize(
        ("state", "words"),
        [("queued", "no verdict yet"), ("running", "no verdict yet"), ("failed", "failed")],
    )
    def test_a_job_without_a_verdict_has_not_expired(
        self, client: Client, make_job: MakeJob, path: str, state: str, words: str
    ) -> None:
        leased = {"lease": "one", "lease_until": timezone.now() + dt.timedelta(hours=1)}
        job = make_job(state=state, **(leased if state == "running" else {}))

        page = missing(client, f"/d/{job.pk}/{path}")

        assert words in text_of(page)
        assert f'href="/d/{job.pk}/"' in page

    @pytest.mark.parametrize("form", ["delete/", "feedback/"])
    def test_a_sample_is_not_gone_because_it_is_nobodys(self, client: Client, form: str) -> None:
        response = client.post(f"/d/sample-killed-rank/{form}")

        assert response.status_code == HTTPStatus.NOT_FOUND
        assert 'href="/d/sample-killed-rank/"' in response.text
        assert "There is no diagnosis" not in response.text

    @pytest.mark.parametrize("path", ["log/", "log/1/", "log/1.txt", "log/1/lines/", "feedback/"])
    def test_unknown_id(self, client: Client, path: str) -> None:
        response = client.get(f"/d/nothing/{path}")

        assert response.status_code == HTTPStatus.NOT_FOUND
        assert "There is no diagnosis at this address" in response.text

    @pytest.mark.parametrize("path", ["log/", "log/1/", "log/1.txt", "log/1/lines/"])
    def test_expired_id(self, client: Client, make_job: MakeJob, path: str) -> None:
        job = make_job(state="done", expires_at=timezone.now() - dt.timedelta(minutes=1))

        response = client.get(f"/d/{job.pk}/{path}")

        assert response.status_code == HTTPStatus.NOT_FOUND
        assert "This diagnosis has expired" in response.text


class TestLines:
    def test_it_works(self, client: Client, answered: Answered) -> None:
        job = answered(LONG)
        page = show(client, f"/d/{job.pk}/")
        address = re.findall(r'data-lines="([^"]+)"', page)[0]

        rows = show(client, html.unescape(address))

        assert numbers(rows) == list(range(2199, 2499))
        assert "2,198 lines: show" in text_of(rows)
        assert "<html" not in rows

    def test_all_of_a_log_is_reached_by_opening_gaps(
        self, client: Client, answered: Answered
    ) -> None:
        job = answered(LONG)
        page = show(client, f"/d/{job.pk}/")
        shown = numbers(page)
        gaps = re.findall(r'data-lines="([^"]+)"', page)
        opened: set[str] = set()
        while gaps:
            # One of the two ways into a gap: the other one is of a gap that is no more.
            address = html.unescape(gaps.pop(0))
            gap = address.partition("gap=")[2].partition("&")[0]
            if gap in opened:
                continue
            opened.add(gap)
            rows = show(client, address)
            shown += numbers(rows)
            gaps += re.findall(r'data-lines="([^"]+)"', rows)

        assert sorted(shown) == list(range(1, 5003))

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "gap=1-9",
            "gap=1-9&part=5-20",
            "gap=1-5002&part=1-2001",
            "gap=5003-5004&part=5003-5004",
        ],
    )
    def test_what_is_no_part_of_a_gap(self, client: Client, answered: Answered, query: str) -> None:
        response = client.get(f"/d/{answered(LONG).pk}/log/1/lines/?{query}")

        assert response.status_code == HTTPStatus.NOT_FOUND


class TestSearch:
    def test_it_works(self, client: Client, answered: Answered) -> None:
        job = answered(LONG, b"a KEYERROR too\n" * 9)
        page = show(client, f"/d/{job.pk}/log/?q=keyerror")

        assert "10 lines hold these words." in text_of(page)
        assert "<mark>KeyError</mark>" in page
        assert f"/d/{job.pk}/log/1/?line=2502&amp;q=keyerror#L2502" in page
        assert f"/d/{job.pk}/log/2/?line=1&amp;q=keyerror#F2-L1" in page

    def test_more_than_is_shown_is_counted(self, client: Client, answered: Answered) -> None:
        page = show(client, f"/d/{answered(LONG).pk}/log/?q=loss")

        assert "5,000 lines hold these words; the first 500 are shown." in text_of(page)
        assert page.count('class="log-number"') == 500

    def test_nothing_found_says_what_masking_does(self, client: Client, answered: Answered) -> None:
        page = show(client, f"/d/{answered(LONG).pk}/log/?q=203.0.113.8")

        assert "No line holds these words." in text_of(page)
        assert "as its placeholder" in page

    def test_form_without_words(self, client: Client, answered: Answered) -> None:
        assert "hold these words" not in show(client, f"/d/{answered(LONG).pk}/log/?q=+")

    def test_hostile_words_are_shown_as_text(self, client: Client, answered: Answered) -> None:
        page = show(client, f'/d/{answered(LONG).pk}/log/?q="><script>alert(1)</script>')

        assert "<script>alert" not in page

    def test_log_of_a_case(self, client: Client, answered: Answered) -> None:
        job = answered(case_log("lab-sigkill-torchrun8"))

        assert "exitcode" in text_of(show(client, f"/d/{job.pk}/log/?q=exitcode"))
