"""An address that is too long for gunicorn is answered by a page of the site."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Page

from denpex.headers import CONTENT_SECURITY_POLICY, policy

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = "Go back, where your text still is"


def answer(site: str, path: str) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection(urlsplit(site).netloc, timeout=30)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response, body


@pytest.mark.parametrize("length", [8191, 9_000, 70_000, 2_000_000])
def test_address_that_is_too_long_is_answered_in_words(site: str, length: int) -> None:
    response, body = answer(site, "/failures/?q=" + "x" * length)
    assert response.status == 414
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Content-Security-Policy"] == policy(CONTENT_SECURITY_POLICY)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    assert int(response.headers["Content-Length"]) == len(body.encode())
    assert "<h1>That is too long for an address</h1>" in body
    assert WORDS in body
    assert "xxxx" not in body


def test_address_of_nearly_8_kilobytes_is_searched_for(site: str) -> None:
    response, body = answer(site, "/failures/?q=" + quote("zzzz " * 1000))
    assert response.status == 200
    assert "Only its end was searched for" in body


def test_request_that_is_none_is_refused_as_before(site: str) -> None:
    address = urlsplit(site)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(b"no request\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_too_long_a_search_without_scripts_is_told_so_and_leaves_the_text_in_the_field(
    scriptless_page: Page,
) -> None:
    scriptless_page.goto("/privacy/")
    field = scriptless_page.get_by_label("Search failures")
    text = "显存不足" * 300
    field.fill(text)
    field.press("Enter")
    scriptless_page.get_by_text(WORDS).wait_for()
    scriptless_page.go_back()
    assert field.input_value() == text


def test_a_log_in_the_search_field_is_sent_to_its_end_without_scripts(
    scriptless_page: Page,
) -> None:
    scriptless_page.goto("/privacy/")
    field = scriptless_page.get_by_label("Search failures")
    text = "step 12 of the zzzz run " * 250 + "zzzz.Error: zzzz of 7"
    field.fill(text)
    field.press("Enter")
    scriptless_page.get_by_role("heading", name="Search: a piece of a log").wait_for()
    assert scriptless_page.get_by_label("Log or traceback").input_value() == text
    assert f"of {len(text)} characters, from" in scriptless_page.inner_text("main")
