"""Public pages as stored bytes."""

from __future__ import annotations

import gzip

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.test import RequestFactory
from pytest_django import DjangoAssertNumQueries, Settings

from encyclopedia import stored
from encyclopedia.models import LoadedCatalogue
from encyclopedia.stored import public_page

pytestmark = pytest.mark.django_db


class Page:
    """A public view that counts how often it is rendered; `answer` is its next response."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.renderings = 0
        self.answer = HttpResponse("<p>Hello</p>" * 100)
        self.view = public_page(varies_with=("q",))(self._render)

    def _render(self, _request: HttpRequest) -> HttpResponseBase:
        self.renderings += 1
        return self.answer

    def get(self, query: str = "", method: str = "get", **headers: str) -> HttpResponseBase:
        send = getattr(RequestFactory(), method)
        return self.view(send(self.path + query, headers=headers))


@pytest.fixture
def page() -> Page:
    return Page("/page/")


class Clock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(stored, "monotonic", clock)
    return clock


def content(response: HttpResponseBase) -> bytes:
    assert isinstance(response, HttpResponse)
    return response.content


def test_it_works(page: Page) -> None:
    response = page.get()
    assert response.status_code == 200
    assert content(response) == b"<p>Hello</p>" * 100
    assert response.headers["Cache-Control"] == "public, max-age=300"
    assert response.headers["Content-Length"] == "1200"
    assert response.headers["Vary"] == "Accept-Encoding"


def test_a_page_is_rendered_once(page: Page) -> None:
    assert content(page.get()) == content(page.get())
    assert page.renderings == 1


def test_a_stored_page_is_dropped_a_second_after_the_catalogue_changed(
    page: Page, clock: Clock
) -> None:
    page.get()
    LoadedCatalogue.objects.create(fingerprint="another")
    page.answer = HttpResponse("New")
    clock.now += 1.0
    assert content(page.get()) == b"New"


def test_a_page_rendered_just_after_a_change_is_dropped_with_the_others(
    page: Page, clock: Clock
) -> None:
    Page("/earlier/").get()
    LoadedCatalogue.objects.create(fingerprint="another")
    page.get()
    clock.now += 1.0
    page.get()
    assert page.renderings == 2


def test_the_database_is_asked_once_a_second(
    page: Page, clock: Clock, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        page.get()
        clock.now += 0.9
        page.get()
        Page("/another/").get()
    clock.now += 0.1
    with django_assert_num_queries(1):
        page.get()
    assert page.renderings == 1


def test_a_database_that_is_away_is_not_taken_for_one_without_a_change(
    page: Page, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise OperationalError("gone")

    page.get()
    clock.now += 1.0
    with monkeypatch.context() as away:
        away.setattr(LoadedCatalogue, "current_fingerprint", fail)
        for _ in range(2):
            with pytest.raises(OperationalError):
                page.get()
    page.get()
    assert page.renderings == 1


def test_a_browser_that_can_gets_it_compressed(page: Page) -> None:
    response = page.get(accept_encoding="br, gzip;q=0.8")
    assert response.headers["Content-Encoding"] == "gzip"
    assert len(content(response)) == int(response.headers["Content-Length"])
    assert gzip.decompress(content(response)) == b"<p>Hello</p>" * 100


@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "gzip; q=0.0, br", "xgzip2"])
def test_a_browser_that_cannot_gets_it_plain(page: Page, accepted: str) -> None:
    response = page.get(accept_encoding=accepted)
    assert "Content-Encoding" not in response.headers
    assert content(response) == b"<p>Hello</p>" * 100


@pytest.mark.parametrize("accepted", ["", "gzip"])
def test_a_page_that_is_known_already_is_not_sent_again(page: Page, accepted: str) -> None:
    etag = page.get().headers["ETag"]
    response = page.get(if_none_match=etag, accept_encoding=accepted)
    assert response.status_code == 304
    assert content(response) == b""
    assert response.headers["ETag"] == etag
    assert response.headers["Cache-Control"] == "public, max-age=300"


def test_another_state_of_the_page_is_sent(page: Page) -> None:
    assert page.get(if_none_match='W/"older"').status_code == 200


def test_a_query_that_the_page_does_not_read_is_ignored(page: Page) -> None:
    page.get()
    page.get("?utm_source=mail")
    assert page.renderings == 1


def test_an_answer_to_a_query_is_not_stored(page: Page) -> None:
    page.get("?q=one")
    page.get("?q=one")
    assert page.renderings == 2


@pytest.mark.parametrize("status", [301, 404, 500])
def test_only_a_success_is_stored(page: Page, status: int) -> None:
    page.answer = HttpResponse("gone", status=status)
    assert page.get().status_code == status
    page.get()
    assert page.renderings == 2


def test_nothing_is_stored_while_debugging(page: Page, settings: Settings) -> None:
    settings.DEBUG = True
    page.get()
    page.get()
    assert page.renderings == 2


def test_a_page_can_only_be_read(page: Page) -> None:
    assert page.get(method="post").status_code == 405
