"""The way of a paste over real HTTP: many at once, too much at once, and nothing behind it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import threading
import time
import urllib.parse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus

import pytest
from redis import Redis

from denpex.processes import Child
from diagnosis.models import AllowanceCount, Job
from tests.diagnosis.conftest import case_log

pytestmark = pytest.mark.django_db(transaction=True)

LOG = "[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'labels'\n"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str


def ask(site: str, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(site).netloc, timeout=60)
    try:
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read().decode())
    finally:
        connection.close()


def paste(site: str, log: str = LOG, cookie: str = "", nonce: str = "") -> Answer:
    body = urllib.parse.urlencode({"log": log, "nonce": nonce}).encode()
    return ask(site, "POST", "/diagnose/", body, Content_Type=FORM, Cookie=cookie)


def cookie_of(answer: Answer) -> str:
    return answer.headers["Set-Cookie"].partition(";")[0]


def at_once(number: int, site: str, **fields: str) -> Sequence[Answer]:
    start = threading.Barrier(number)

    def run(_place: int) -> Answer:
        start.wait()
        return paste(site, **fields)

    with ThreadPoolExecutor(number) as threads:
        return list(threads.map(run, range(number)))


@pytest.mark.parametrize("with_cookie", [True, False])
def test_twenty_at_once_from_one_visitor(site: str, redis: Redis, *, with_cookie: bool) -> None:
    cookie = cookie_of(ask(site, "GET", "/diagnose/")) if with_cookie else ""

    answers = at_once(20, site, cookie=cookie)

    refused = [answer for answer in answers if answer.status == HTTPStatus.TOO_MANY_REQUESTS]
    assert sorted(answer.status for answer in answers) == [303] * 3 + [429] * 17
    assert len(refused) == 17
    assert all("returns at 00:00 UTC" in answer.text for answer in refused)
    assert all("account has" in answer.text for answer in refused)
    assert all(0 < int(answer.headers["Retry-After"]) <= 86_400 for answer in refused)
    assert Job.objects.count() == 3
    assert max(AllowanceCount.objects.values_list("used", flat=True)) == 3


def test_clicks_at_once_are_one_job(site: str, redis: Redis) -> None:
    answers = at_once(8, site, nonce="0123456789abcdef0123456789abcdef")

    assert {answer.status for answer in answers} == {303}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert Job.objects.count() == 1
    assert len(redis.keys("diagnosis:*:log")) == 1
    assert set(AllowanceCount.objects.values_list("used", flat=True)) == {1}


@pytest.mark.parametrize("megabytes", [11, 60])
def test_too_large_a_request_gets_our_page(site: str, redis: Redis, megabytes: int) -> None:
    answer = paste(site, "x" * megabytes * 1_000_000)

    assert answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert "more than 10 MB" in answer.text
    assert not Job.objects.exists()


def test_request_without_a_length_is_told_what_to_do(site: str, redis: Redis) -> None:
    headers = {"Content_Type": FORM, "Transfer_Encoding": "chunked"}
    answer = ask(site, "POST", "/diagnose/", b"5\r\nlog=a\r\n0\r\n\r\n", **headers)

    assert answer.status == HTTPStatus.BAD_REQUEST
    assert "Content-Length" in answer.text


def test_broker_that_does_not_answer_is_a_503_and_takes_nothing(site: str, redis: Redis) -> None:
    cookie = cookie_of(ask(site, "GET", "/diagnose/"))
    pid = redis.info("server")["process_id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        answer = paste(site, cookie=cookie)
    finally:
        os.kill(pid, signal.SIGCONT)

    assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "Nothing was taken from your allowance." in answer.text
    assert "KeyError" in answer.text
    assert "3 of 3 left" in ask(site, "GET", "/diagnose/allowance/", Cookie=cookie).text


def test_curl_reads_the_verdict(site: str, worker: Child) -> None:
    """Paste a log as `curl -F files=@log.txt` does, and follow the address it answers with."""
    parts = (
        b'--b\r\nContent-Disposition: form-data; name="files"; filename="log.txt"\r\n\r\n',
        case_log("lab-sigkill-torchrun8"),
        b"\r\n--b--\r\n",
    )
    multipart = "multipart/form-data; boundary=b"
    sent = ask(site, "POST", "/diagnose/", b"".join(parts), Content_Type=multipart)
    path = sent.headers["Location"]

    deadline = time.monotonic() + 30
    while (answer := ask(site, "GET", f"{path.rstrip('/')}.json")).status == HTTPStatus.ACCEPTED:
        assert time.monotonic() < deadline
        time.sleep(0.2)

    verdict = json.loads(answer.text)
    assert verdict["primary"]["rank"] == 6
    page = re.sub(r"<[^>]+>", "", ask(site, "GET", path).text)
    assert "Rank 6" in page
    assert verdict["fix"]["summary"][:40] in page
