from __future__ import annotations

from http import HTTPStatus

import pytest
from django.core.management import call_command
from django.test import Client, RequestFactory

from diagnosis.origin import is_foreign

OWN = "http://testserver"


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({}, False),  # curl
        ({"Origin": OWN}, False),
        ({"Origin": OWN, "Sec-Fetch-Site": "same-origin"}, False),
        ({"Origin": "https://testserver"}, False),  # behind a proxy that ends TLS
        ({"Origin": "https://evil.example"}, True),
        ({"Origin": "http://testserver.evil.example"}, True),
        ({"Origin": "http://testserver:8000"}, True),
        ({"Origin": "http://["}, True),  # no address at all
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Origin": OWN, "Sec-Fetch-Site": "cross-site"}, True),
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Origin": "null"}, True),  # a sandboxed frame of anyone
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, False),
    ],
)
def test_is_foreign(rf: RequestFactory, headers: dict[str, str], *, foreign: bool) -> None:
    assert is_foreign(rf.post("/diagnose/", headers=headers)) is foreign


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/diagnose/", "/diagnose/"),
        ("/d/sample-killed-rank/delete/", "/d/sample-killed-rank/"),
        ("/d/sample-killed-rank/feedback/", "/d/sample-killed-rank/"),
        ("/failures/process-sigbus/was-it/", "/failures/process-sigbus/#was-it"),
    ],
)
@pytest.mark.django_db
def test_who_is_refused_is_led_to_the_page_with_the_button(
    client: Client, redis: object, form: str, page: str
) -> None:
    call_command("load_failures", verbosity=0)

    refused = client.post(form, headers={"Sec-Fetch-Site": "cross-site"})

    assert refused.status_code == HTTPStatus.FORBIDDEN
    assert f'<a class="button" href="{page}">Open that page</a>' in refused.text
    shown = client.get(page).text
    fragment = page.partition("#")[2]
    assert f'action="{form}"' in shown or form.startswith("/d/sample")
    assert not fragment or f'id="{fragment}"' in shown
