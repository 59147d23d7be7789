from __future__ import annotations

import re
from html import unescape
from http import HTTPStatus

import markdown
import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from diagnosis import verdict_markdown
from tests.diagnosis.conftest import Answered, MakeJob, Told, case_log
from tests.diagnosis.verdicts import evidence, verdict

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

HOSTILE = """\
[rank2]: Traceback (most recent call last):
[rank2]:   File "/w/odd.py", line 88, in fold
[rank2]:     weave()
[rank2]: zephyr.loom.OddError: <img src=x onerror=alert(1)> ![x](http://evil.example/x.png) \
[a](javascript:alert(1)) ``` @octocat #1 \u202eelpmaxe **bold** www.evil.example
"""


@pytest.fixture
def failures(db: None) -> None:
    call_command("load_failures", verbosity=0)


def written(client: Client, job_id: str) -> str:
    response = client.get(f"/d/{job_id}.md")
    assert response.status_code == HTTPStatus.OK
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    return response.text


def test_it_works(client: Client, answered: Answered, failures: None) -> None:
    text = written(client, answered(case_log("lab-sigkill-torchrun8")).pk)

    assert text.startswith("### Process Killed by SIGKILL")
    assert "**Symptom only, low confidence.**" in text
    assert "/failures/process-killed-by-sigkill/" in text
    assert "```sh\nsudo dmesg -T" in text
    assert re.search(r"```text\nline \d+: .*exitcode: -9", text)
    assert (
        "- Gloo Peer Closed the Connection on ranks 5, 7 follows from it, 4 times, first on" in text
    )
    assert "collect next: `grep -w oom_kill /proc/vmstat` on the node" in text
    assert "- 6 (localhost): failed first" in text


@pytest.mark.parametrize(
    ("log", "label"),
    [
        (b"GGUF is how this file begins, and the engine knows what such files are\n", "Unreadable"),
        (b"step 1\n" * 9 + b"KeyboardInterrupt\n", "No failure seen"),
        (b"INFO step 1 loss 3.0\n" * 60, "No failure seen"),
        (b"[rank2]: zephyr.loom.KernelError: WOVEN_TWICE\n" * 3, "Unrecognised"),
    ],
    ids=["no log", "stopped", "healthy", "unknown"],
)
def test_no_confidence_is_told_where_no_failure_is_named(
    client: Client, answered: Answered, log: bytes, label: str
) -> None:
    job = answered(log)

    text, page = written(client, job.pk), client.get(f"/d/{job.pk}/").text

    assert f"**{label}.**" in text
    assert "confidence" not in text + page.lower()


def test_what_speaks_for_all_possibilities_alike_is_said_once(client: Client, told: Told) -> None:
    possible = [
        {"failure": f"failure-{n}", "for": "Dead.", "against": f"No {n}.", "collect_next": "`x`"}
        for n in range(2)
    ]

    text = written(client, told(verdict([], [evidence(1)], hypotheses=possible), b"one\n").pk)

    assert "**What else it may be.** For all of them: Dead.\n\n- failure-0\n" in text
    assert "- failure-1\n  - against it: No 1.\n  - collect next: `x`\n" in text


def test_address_that_opens_the_log_does_not_stand_in_it(
    client: Client, answered: Answered
) -> None:
    job = answered(case_log("lab-sigkill-torchrun8"))

    assert job.pk not in written(client, job.pk)


def test_page_shows_the_same_text(client: Client, answered: Answered) -> None:
    job = answered(case_log("lab-sigkill-torchrun8"))

    page = client.get(f"/d/{job.pk}/").text

    assert written(client, job.pk).splitlines()[0] in page


def test_words_of_a_log_neither_format_nor_link_nor_call(
    client: Client, answered: Answered
) -> None:
    text = written(client, answered(HOSTILE.encode()).pk)
    # A renderer as strict as any: what is left outside code must be plain words.
    html = markdown.markdown(text, extensions=["pymdownx.superfences", "pymdownx.magiclink"])
    outside = re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", html, flags=re.DOTALL)

    assert "OddError" in outside
    assert not re.search(r"<(?:img|a|em)\b|javascript:alert\(1\)\"", outside)
    assert "<strong>bold" not in outside
    assert "@octocat" not in outside
    assert "<U+202E>" in text
    assert "\u202e" not in text


def test_identifiers_are_code_and_nothing_is_escaped() -> None:
    text = "On host <ip-1>, resize_token_embeddings (see `a_b`): http://x.example, @octocat."

    assert verdict_markdown._plain(text) == (
        "On host `<ip-1>`, `resize_token_embeddings` (see `` `a_b` ``): `http://x.example`,"
        " `@octocat`."
    )


@given(st.text(alphabet="ab`*_<>[]()!#|\\@.: \n", max_size=30))
def test_no_word_does_more_than_show(text: str) -> None:
    html = markdown.markdown(f"x {verdict_markdown._plain(text)} x")

    shown = re.sub(r"</?(?:p|code)>", "", html)
    assert "<" not in shown
    assert unescape(shown).split() == f"x {text} x".split()


def test_block_ends_where_it_should_whatever_it_quotes(client: Client, answered: Answered) -> None:
    text = written(client, answered(HOSTILE.encode()).pk)

    assert re.search(r"^````text$.*^````$", text, re.DOTALL | re.MULTILINE)


def test_files_are_named_where_there_are_several(client: Client, answered: Answered) -> None:
    text = written(client, answered(b"step 1\n" * 30, HOSTILE.encode()).pk)

    assert re.search(r"^rank_1\.log:4: ", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, HTTPStatus.ACCEPTED),
        ({"state": "failed", "failure_reason": "log_lost"}, HTTPStatus.INTERNAL_SERVER_ERROR),
    ],
)
def test_job_without_a_verdict_says_where_it_stands(
    client: Client, make_job: MakeJob, fields: dict[str, str], status: HTTPStatus
) -> None:
    response = client.get(f"/d/{make_job(**fields).pk}.md")

    assert response.status_code == status
    assert response.text.strip().endswith(".")


def test_sample_says_that_it_is_one(client: Client) -> None:
    assert written(client, "sample-disk-full").startswith("### SAMPLE: ")


def test_unknown_id(client: Client) -> None:
    assert client.get("/d/nothing.md").status_code == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize(
    "log",
    [
        b"INFO step 1 loss 3.0\n" * 60,
        b"GGUF is how this file begins, and the engine knows it\n" * 3,
    ],
    ids=["no failure", "unreadable"],
)
def test_verdicts_without_a_failure(client: Client, answered: Answered, log: bytes) -> None:
    assert written(client, answered(log).pk).startswith("### ")


def test_nearest_failures_are_named_where_none_matches(
    client: Client, answered: Answered, failures: None
) -> None:
    log = b"[rank2]: zephyr.loom.KernelError: cuDNN gave CUDNN_STATUS_WOVEN_TWICE\n" * 9

    text = written(client, answered(log).pk)

    assert "The nearest known failures; none of them matches" in text
    assert re.search(r"- cuDNN.*, which says .*`CUDNN_STATUS_ALLOC_FAILED`", text)
