"""The paste form: what it takes, and what it answers where it does not."""

from __future__ import annotations

import gzip
import re
import threading
from http import HTTPStatus
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from redis import Redis

from diagnosis import submission, tasks
from diagnosis.models import AllowanceCount, Job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

LOG = "[rank1]: Traceback (most recent call last):\n[rank1]: KeyError: 'labels'\n"
BINARIES = {
    "ELF": b"\x7fELF\x02\x01\x01" + bytes(range(256)),
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "ZIP": b"PK\x03\x04" + bytes(range(256)),
}


@pytest.fixture
def client() -> Client:
    return Client(enforce_csrf_checks=True)


def paste(client: Client, text: str = LOG, **fields: Any) -> Any:
    return client.post("/diagnose/", {"log": text, **fields})


def took_nothing() -> bool:
    return not Job.objects.exists() and not AllowanceCount.objects.filter(used__gt=0).exists()


def test_it_works(client: Client) -> None:
    response = paste(client)

    job = Job.objects.get()
    assert (response.status_code, response["Location"]) == (303, f"/d/{job.pk}/")
    assert (job.state, job.tier) == ("queued", "anonymous")


def test_answer_names_the_address_for_programs(client: Client) -> None:
    response = paste(client)

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.text == f"http://testserver{response['Location']}\n"


def test_form_is_private_and_not_for_search_engines(client: Client) -> None:
    response = client.get("/diagnose/")

    assert response.status_code == HTTPStatus.OK
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert "3 of 3 left today" in response.text


def test_a_visitor_is_told_when_log_and_verdict_are_gone(client: Client) -> None:
    page = client.get("/diagnose/").text

    assert "Log and verdict are gone after 24 hours, or as soon as you delete them." in page


def test_files_are_taken_plain_and_packed(client: Client, redis: Redis) -> None:
    files = [
        SimpleUploadedFile("rank_0.log", LOG.encode()),
        SimpleUploadedFile("rank_1.log.gz", gzip.compress(LOG.encode())),
    ]

    client.post("/diagnose/", {"log": "", "files": files})

    about = redis.hget(f"diagnosis:{Job.objects.get().pk}:log", "about")
    assert isinstance(about, bytes)
    assert re.findall(rb'"name": "(.*?)"', about) == [b"rank_0.log", b"rank_1.log"]


def test_file_in_the_field_of_the_text_is_taken(client: Client, redis: Redis) -> None:
    """As `curl -F log=@run.log` sends it."""
    client.post("/diagnose/", {"log": SimpleUploadedFile("run.log", LOG.encode())})

    about = redis.hget(f"diagnosis:{Job.objects.get().pk}:log", "about")
    assert isinstance(about, bytes)
    assert b'"run.log"' in about


def test_log_is_masked_before_it_is_stored(client: Client, redis: Redis) -> None:
    paste(client, LOG + "connecting to 203.0.113.200 as ops@corp.example\n")

    from diagnosis import store

    (log,) = store.read_log(Job.objects.get().pk) or ()
    assert b"203.0.113.200" not in log.data
    assert b"corp.example" not in log.data
    assert b"<ip-1>" in log.data


def test_log_is_kept_for_a_day(client: Client, redis: Redis) -> None:
    paste(client)

    assert 86_300 < redis.ttl(f"diagnosis:{Job.objects.get().pk}:log") <= 86_400


def test_failure_that_was_asked_about_is_remembered_if_there_is_one(client: Client) -> None:
    paste(client, failure="made-up-by-somebody")

    assert Job.objects.get().asked_about == ""


@pytest.mark.parametrize("text", ["", "   \r\n\t\r\n"])
def test_empty_paste_gets_the_form_again(client: Client, text: str) -> None:
    response = paste(client, text)

    assert response.status_code == HTTPStatus.BAD_REQUEST
    assert "There is no log here yet." in response.text
    assert 'role="alert"' in response.text
    assert took_nothing()


def test_eleven_megabytes_are_too_many(client: Client) -> None:
    response = paste(client, "x" * 11_000_000)

    assert response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert "more than 10 MB" in response.text
    assert "too long to send back" in response.text
    assert took_nothing()


def test_request_that_announces_too_much_is_not_read_into_memory(client: Client) -> None:
    upload = SimpleUploadedFile("a.log", b"x" * 40_000_000)

    response = client.post("/diagnose/", {"files": upload})

    assert response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert "more than 10 MB" in response.text
    assert took_nothing()


def test_gzip_bomb_is_too_large(client: Client) -> None:
    bomb = gzip.compress(b"0" * 200_000_000, compresslevel=1)

    response = client.post("/diagnose/", {"files": SimpleUploadedFile("a.log.gz", bomb)})

    assert response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert took_nothing()


@pytest.mark.parametrize("name", BINARIES)
def test_binary_is_answered_plainly_and_costs_nothing(client: Client, name: str) -> None:
    upload = SimpleUploadedFile("model.pt", BINARIES[name])

    response = client.post("/diagnose/", {"log": "", "files": upload})

    assert response.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert name in response.text
    assert "Choose the files again" in response.text
    assert took_nothing()


def test_refused_text_is_sent_back_as_text(client: Client) -> None:
    binary = SimpleUploadedFile("model.pt", BINARIES["ZIP"])

    response = client.post("/diagnose/", {"log": "</textarea><script>alert(1)", "files": binary})

    assert "&lt;/textarea&gt;&lt;script&gt;alert(1)" in response.text
    assert "<script>alert" not in response.text


ROUGH = {
    "invalid UTF-8": b"Datei l\xe4sst sich nicht \xf6ffnen\n" + LOG.encode(),
    "one line of 5 MB": b"x" * 5_000_000 + b"\n" + LOG.encode(),
    "NUL bytes": LOG.encode() + bytes(4096) + LOG.encode(),
}


@pytest.mark.parametrize("name", ROUGH)
def test_rough_text_is_taken(client: Client, name: str) -> None:
    response = client.post("/diagnose/", {"files": SimpleUploadedFile("a.log", ROUGH[name])})

    assert response.status_code == HTTPStatus.SEE_OTHER


def test_nul_bytes_in_the_text_field_are_taken(client: Client) -> None:
    response = paste(client, f"{LOG}\x00\x00{LOG}", failure="a\x00b", nonce="n\x00" * 10)

    assert response.status_code == HTTPStatus.SEE_OTHER


def test_form_sent_url_encoded_is_taken(client: Client) -> None:
    body = "log=RuntimeError%3A+CUDA+out+of+memory"

    response = client.post("/diagnose/", body, content_type="application/x-www-form-urlencoded")

    assert response.status_code == HTTPStatus.SEE_OTHER


def test_log_sent_without_a_form_is_told_how(client: Client) -> None:
    response = client.post("/diagnose/", LOG, content_type="text/plain")

    assert response.status_code == HTTPStatus.BAD_REQUEST
    assert "curl -F files=@log.txt" in response.text
    assert took_nothing()


def test_programs_read_what_is_left_in_the_header(client: Client) -> None:
    answers = [paste(client) for _ in range(4)]

    assert {each["RateLimit-Policy"] for each in answers} == {'"day";q=3;w=86400'}
    told = [re.fullmatch(r'"day";r=(\d);t=\d{1,5}', each["RateLimit"]) for each in answers]
    assert [each and each[1] for each in told] == ["2", "1", "0", "0"]


def test_fourth_of_a_day_is_told_when_the_allowance_returns(client: Client) -> None:
    for _ in range(3):
        assert paste(client).status_code == HTTPStatus.SEE_OTHER

    response = paste(client)

    assert response.status_code == HTTPStatus.TOO_MANY_REQUESTS
    assert 0 < int(response["Retry-After"]) <= 86_400
    assert "You have used the 3 diagnoses of today." in response.text
    assert "returns at 00:00 UTC" in response.text
    assert "A verified account has 5 a day" in response.text
    assert "KeyError" in response.text  # nothing is lost
    assert Job.objects.count() == 3


def test_program_is_refused_in_plain_words(client: Client) -> None:
    response = client.post("/diagnose/", {"log": " "}, headers={"Accept": "*/*"})

    assert response.status_code == HTTPStatus.BAD_REQUEST
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.text.startswith("There is no log here yet. ")


def test_refused_log_is_not_kept(client: Client, redis: Redis) -> None:
    for _ in range(4):
        paste(client)

    assert len(redis.keys("diagnosis:*:log")) == 3


def test_address_without_cookies_has_three(client: Client) -> None:
    statuses = []
    for _ in range(4):
        client.cookies.clear()
        statuses.append(paste(client).status_code)

    assert statuses == [303, 303, 303, 429]


def test_double_click_is_one_job(client: Client) -> None:
    nonce = "0123456789abcdef0123456789abcdef"

    first, second = (paste(client, nonce=nonce) for _ in range(2))

    assert first["Location"] == second["Location"]
    assert Job.objects.count() == 1
    assert "2 of 3 left" in client.get("/diagnose/allowance/").text


def test_changed_text_under_the_same_nonce_is_another_job(client: Client) -> None:
    nonce = "0123456789abcdef0123456789abcdef"

    paste(client, nonce=nonce)
    paste(client, LOG + "more\n", nonce=nonce)

    assert Job.objects.count() == 2


@pytest.mark.parametrize("nonce", ["", "1", "<script>alert(1)</script>"])
def test_without_a_real_nonce_each_paste_is_a_job(client: Client, nonce: str) -> None:
    for _ in range(2):
        paste(client, nonce=nonce)

    assert Job.objects.count() == 2


def test_form_of_another_site_is_refused(client: Client) -> None:
    response = client.post("/diagnose/", {"log": LOG}, headers={"Origin": "https://evil.example"})

    assert response.status_code == HTTPStatus.FORBIDDEN
    assert "another site" in response.text
    assert took_nothing()


def test_no_token_is_asked_for(client: Client) -> None:
    response = client.post(
        "/diagnose/",
        {"log": LOG},
        headers={"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"},
    )

    assert response.status_code == HTTPStatus.SEE_OTHER


def test_quarantined_log_is_refused_at_no_cost(client: Client) -> None:
    paste(client)
    Job.objects.update(state="failed", failure_reason="attempts_spent", submission_key=None)

    response = paste(client)

    assert response.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "set aside" in response.text
    assert Job.objects.count() == 1


def test_fault_in_masking_quotes_nothing_and_costs_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(logs: object) -> None:
        raise ValueError(f"cannot mask {logs}")

    monkeypatch.setattr(submission, "mask", broken)

    response = paste(client)

    assert response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR
    assert "a fault of ours" in response.text
    assert "labels" not in caplog.text
    assert took_nothing()


def test_busy_site_asks_to_return_and_costs_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs that take minutes to mask must not take all threads of the site."""
    monkeypatch.setattr(submission, "_PLACES_FOR_MASKING", threading.Semaphore(0))
    monkeypatch.setattr(submission, "_PATIENCE_SECONDS", 0.01)

    response = paste(client)

    assert response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert response["Retry-After"] == "30"
    assert "other logs keep us busy" in response.text
    assert "KeyError" in response.text  # nothing is lost
    assert took_nothing()


def test_place_for_masking_is_given_back(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "_PLACES_FOR_MASKING", threading.Semaphore(1))
    monkeypatch.setattr(submission, "_PATIENCE_SECONDS", 0.01)

    assert [paste(client, f"{LOG}{n}").status_code for n in range(3)] == [303, 303, 303]


def test_publishing_waits_for_the_commit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def publish(job_id: str, _tier: str) -> bool:
        seen.append(Job.objects.filter(pk=job_id).exists())
        return True

    monkeypatch.setattr(tasks, "publish", publish)
    paste(client)

    assert seen == [True]


def test_too_many_files_are_refused(client: Client) -> None:
    files = [SimpleUploadedFile(f"rank_{n}.log", b"x") for n in range(1025)]

    response = client.post("/diagnose/", {"log": "", "files": files})

    assert response.status_code == HTTPStatus.BAD_REQUEST
    assert "more than 1024 files" in response.text


def test_other_methods_are_refused(client: Client) -> None:
    assert client.put("/diagnose/").status_code == HTTPStatus.METHOD_NOT_ALLOWED
