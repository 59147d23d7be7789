"""Headers that tell the browser what a page may do."""

from __future__ import annotations

import pytest
from django.test import Client, override_settings

from denpex.headers import CONTENT_SECURITY_POLICY, policy


def test_it_works() -> None:
    assert policy({"default-src": ["'none'"], "img-src": ["'self'", "data:"]}) == (
        "default-src 'none'; img-src 'self' data:"
    )


def test_nothing_inline_and_nothing_foreign_is_allowed() -> None:
    sources = {source for each in CONTENT_SECURITY_POLICY.values() for source in each}
    assert sources == {"'self'", "'none'"}
    assert CONTENT_SECURITY_POLICY["default-src"] == ["'none'"]


@pytest.mark.parametrize("address", ["/healthz", "/no-such-page"])
def test_every_response_carries_them(client: Client, address: str) -> None:
    response = client.get(address)
    assert response["Content-Security-Policy"] == policy(CONTENT_SECURITY_POLICY)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in response["Permissions-Policy"]


def test_a_site_on_https_sends_everyone_there_but_the_probes(client: Client) -> None:
    with override_settings(SECURE_SSL_REDIRECT=True, SECURE_HSTS_SECONDS=3600):
        secure = Client()
        response = secure.get("/failures/", headers={"host": "testserver"})
        assert response.status_code == 301
        assert response["Location"] == "https://testserver/failures/"
        assert secure.get("/healthz").status_code == 200
        assert secure.get("/healthz", secure=True)["Strict-Transport-Security"] == "max-age=3600"


@pytest.mark.django_db
def test_an_answer_that_asked_who_is_there_is_for_no_cache(client: Client) -> None:
    assert client.get("/account/")["Cache-Control"] == "private, no-store"
    assert "no-store" not in client.get("/style/")["Cache-Control"]
