"""The site's error pages."""

from __future__ import annotations

import datetime as dt
import re

import pytest
import redis
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path

from denpex.errors import csrf_failure, error_page

handler400 = "denpex.errors.bad_request"
handler403 = "denpex.errors.permission_denied"
handler404 = "denpex.errors.not_found"
handler500 = "denpex.errors.server_error"

RAISED = {
    "suspicious": SuspiciousOperation("odd"),
    "too-big": RequestDataTooBig("large"),
    "denied": PermissionDenied("no"),
    "bug": ZeroDivisionError("ours"),
    "database": OperationalError("gone"),
    "redis": redis.ConnectionError("gone"),
    "redis-slow": redis.TimeoutError("slow"),
}


def fail(_request: HttpRequest, name: str) -> HttpResponse:
    raise RAISED[name]


def addresses() -> list[object]:
    from denpex.urls import urlpatterns as site

    return [path("raise/<name>/", fail), *site]


urlpatterns = addresses()


@pytest.fixture
def visitor(services: None) -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.urls(__name__)
@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("suspicious", 400, "The request cannot be read"),
        ("too-big", 413, "that this site takes"),
        ("denied", 403, "You may not open this page"),
        ("bug", 500, "Something went wrong on our side"),
        ("database", 503, "A part of the site is not answering"),
        ("redis", 503, "A part of the site is not answering"),
        ("redis-slow", 503, "A part of the site is not answering"),
    ],
)
def test_each_fault_has_its_page(visitor: Client, name: str, status: int, words: str) -> None:
    response = visitor.get(f"/raise/{name}/")
    assert response.status_code == status
    assert words in response.content.decode()
    assert response["Cache-Control"] == "no-store"


@pytest.mark.urls(__name__)
def test_what_does_not_answer_may_be_asked_again(visitor: Client) -> None:
    assert visitor.get("/raise/database/")["Retry-After"] == "30"
    assert "Retry-After" not in visitor.get("/raise/bug/")


def test_an_unknown_host_name_is_explained(visitor: Client) -> None:
    response = visitor.get("/", headers={"Host": "gpu-box.example"})
    assert response.status_code == 400
    assert "DENPEX_ALLOWED_HOSTS" in response.text


def test_an_unknown_page_offers_a_search(visitor: Client) -> None:
    response = visitor.get("/no-such-page")
    assert response.status_code == 404
    page = response.content.decode()
    assert '<form class="search-again" action="/failures/"' in page
    assert 'name="q" value="no such page"' in page


def test_a_page_takes_words_of_its_own(services: None) -> None:
    request = RequestFactory().get("/")
    response = error_page(
        request, 429, retry_after=60, message="3 of 3 are used.", advice="Wait <a minute>."
    )
    assert response.status_code == 429
    assert response["Retry-After"] == "60"
    assert "3 of 3 are used." in response.content.decode()
    assert "Wait &lt;a minute&gt;." in response.content.decode()


def returns_at(text: str) -> dt.datetime:
    found = re.search(r'<time datetime="([^"]+)"', text)
    assert found
    return dt.datetime.fromisoformat(found[1])


def test_what_is_too_much_today_returns_with_the_next_day(services: None) -> None:
    before = dt.datetime.now(tz=dt.UTC)
    response = error_page(RequestFactory().get("/"), 429)
    text = response.content.decode()
    assert 0 < int(response["Retry-After"]) <= 24 * 3600
    assert "00:00 UTC, with the next day" in text
    assert dt.timedelta() < returns_at(text) - before <= dt.timedelta(hours=24, minutes=1)


def test_what_returns_sooner_says_when(services: None) -> None:
    before = dt.datetime.now(tz=dt.UTC).replace(microsecond=0)
    text = error_page(RequestFactory().get("/"), 429, retry_after=3600).content.decode()
    after = dt.datetime.now(tz=dt.UTC)
    assert before <= returns_at(text) - dt.timedelta(hours=1) <= after


def test_a_stale_form_is_explained(services: None) -> None:
    response = csrf_failure(RequestFactory().post("/"))
    assert response.status_code == 403
    assert "reload the page and send the form again" in response.content.decode()


def test_what_is_too_large_is_told_the_limit_and_the_command(services: None) -> None:
    text = error_page(RequestFactory().get("/"), 413).content.decode()
    assert "larger than the 10 MB that this site takes" in text
    assert "<code>denpex diagnose</code>" in text


def test_who_has_nothing_left_is_led_to_a_sample_first(services: None) -> None:
    text = error_page(RequestFactory().get("/"), 429).content.decode()
    assert text.count('class="button"') == 1
    assert re.search(r'<a class="button" href="/d/sample-[a-z-]+/">Look at a sample</a>', text)


@pytest.mark.parametrize("status", [400, 403, 404, 413, 414, 429, 500, 503])
def test_each_page_has_a_heading_and_a_way_on(services: None, status: int) -> None:
    text = error_page(RequestFactory().get("/"), status).content.decode()
    assert text.count("<h1>") == 1
    assert f"<title>{status} · Denpex</title>" in text
    assert 'href="/#paste"' in text
    assert 'content="noindex"' in text
