from __future__ import annotations

import datetime as dt
import ipaddress
import re

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from diagnosis import visitors
from diagnosis.models import DailySalt

PROXIES = tuple(ipaddress.ip_network(each) for each in ("10.0.0.0/8", "2001:db8:ffff::/48"))
DAY = dt.date(2026, 12, 1)


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "expected"),
    [
        # Nobody's word counts unless a trusted proxy gives it.
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.2", "198.51.100.1", "198.51.100.1"),
        # What stands left of the nearest untrusted hop is the client's own invention.
        ("10.0.0.2", "192.0.2.9, 198.51.100.1, 10.0.0.3", "198.51.100.1"),
        ("10.0.0.2", "", "10.0.0.2"),
        ("10.0.0.2", "198.51.100.1, not an address", "10.0.0.2"),
        # As proxies write them: with port, bracketed, mapped, with a zone.
        ("10.0.0.2", "198.51.100.1:50122", "198.51.100.1"),
        ("10.0.0.2", "[2001:db8::1]:443", "2001:db8::1"),
        ("::ffff:203.0.113.7", "", "203.0.113.7"),
        ("fe80::1%eth0", "", "fe80::1"),
        ("2001:db8:ffff::9", "2001:db8:1::5", "2001:db8:1::5"),
    ],
)
def test_client_address(peer: str, forwarded_for: str, expected: str) -> None:
    assert str(visitors.client_address(peer, forwarded_for, PROXIES)) == expected


def test_a_server_that_does_not_know_its_peer_has_no_address() -> None:
    assert visitors.client_address("", "198.51.100.1", PROXIES) is None


def test_addresses_of_one_ipv6_network_are_one_visitor(rf: RequestFactory) -> None:
    first = visitors.identify(rf.get("/", REMOTE_ADDR="2001:db8:0:7::1"))
    second = visitors.identify(rf.get("/", REMOTE_ADDR="2001:db8:0:7:ffff::2"))
    third = visitors.identify(rf.get("/", REMOTE_ADDR="2001:db8:0:8::1"))

    assert first.address == second.address == "2001:db8:0:7::/64"
    assert third.address != first.address


def test_cookie_comes_back_as_it_was_given(rf: RequestFactory) -> None:
    response = HttpResponse()
    visitors.give_cookie(response, "visitor-one")

    morsel = response.cookies["denpex_visitor"]
    request = rf.get("/", headers={"Cookie": f"denpex_visitor={morsel.value}"})

    assert visitors.identify(request).cookie == "visitor-one"
    assert (morsel["path"], morsel["samesite"], morsel["httponly"]) == ("/diagnose/", "Lax", True)


def test_cookie_that_we_did_not_sign_counts_as_none(rf: RequestFactory) -> None:
    request = rf.get("/", headers={"Cookie": "denpex_visitor=visitor-one:made:up"})

    assert visitors.identify(request).cookie is None


@pytest.mark.django_db
def test_subject_is_a_digest_that_holds_for_one_day() -> None:
    key, next_key = visitors.key_of(DAY), visitors.key_of(DAY + dt.timedelta(days=1))
    today = visitors.subject("address", "203.0.113.7", key)

    assert visitors.subject("address", "203.0.113.7", visitors.key_of(DAY)) == today
    assert visitors.subject("visitor", "203.0.113.7", key) != today
    assert visitors.subject("address", "203.0.113.7", next_key) != today
    assert re.fullmatch(r"[0-9a-f]{64}", today)


@pytest.mark.django_db
def test_subject_cannot_be_made_again_without_its_salt() -> None:
    before = visitors.subject("address", "203.0.113.7", visitors.key_of(DAY))

    DailySalt.objects.all().delete()

    assert visitors.subject("address", "203.0.113.7", visitors.key_of(DAY)) != before
