from __future__ import annotations

import pytest
from django.test import RequestFactory

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
