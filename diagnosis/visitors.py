"""Who is asking: the address that a request came from, and the cookie it brings.

Neither is stored as it is: a subject is a digest under a random key of the day, which is removed
when the day is over.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from denpex.environment import Network
from diagnosis.models import DailySalt

__all__ = ["Visitor", "give_cookie", "identify", "key_of", "new_cookie", "subject", "today"]

COOKIE = "denpex_visitor"
# The browser sends it to the paste form alone: public pages stay the same for everyone.
COOKIE_PATH = "/diagnose/"
_COOKIE_SALT = "denpex.visitor"
_COOKIE_AGE = dt.timedelta(days=30)

# A household or a small office holds at least a /64 of IPv6 addresses (RFC 6177).
_IPV6_PREFIX = 64
_UNKNOWN_ADDRESS = "unknown"
_SALT_BYTES = 32

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Visitor:
    """A request without an account: its address (IPv6: the /64), and its cookie if it has one."""

    address: str
    cookie: str | None


def today() -> dt.date:
    """Return the day that allowances and counts are kept by; it turns at 00:00 UTC."""
    return dt.datetime.now(tz=dt.UTC).date()


def identify(request: HttpRequest) -> Visitor:
    """Read address and cookie of a request; a cookie that we did not sign counts as none."""
    cookie = request.get_signed_cookie(COOKIE, default=None, salt=_COOKIE_SALT, max_age=_COOKIE_AGE)
    address = client_address(
        request.META.get("REMOTE_ADDR", ""),
        request.META.get("HTTP_X_FORWARDED_FOR", ""),
        settings.TRUSTED_PROXIES,
    )
    return Visitor(_unit(address), cookie)


def new_cookie() -> str:
    """Return the value of a visitor cookie that nobody has yet."""
    return secrets.token_urlsafe(16)


def give_cookie(response: HttpResponse, cookie: str) -> None:
    """Set the visitor cookie on `response`, signed."""
    response.set_signed_cookie(
        COOKIE,
        cookie,
        salt=_COOKIE_SALT,
        max_age=_COOKIE_AGE,
        path=COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def client_address(
    peer: str, forwarded_for: str, trusted_proxies: Sequence[Network]
) -> _Address | None:
    """Return the address that a request came from, or None where the server does not know it.

    `forwarded_for` is the X-Forwarded-For header. Anyone can write one, so that only what a trusted
    proxy added counts: from its right end, up to the first address that is not such a proxy.
    """
    client = _parse(peer)
    hops = [hop for hop in forwarded_for.split(",") if hop.strip()]
    while client is not None and hops and _is_trusted(client, trusted_proxies):
        hop = _parse(hops.pop())
        if hop is None:
            break
        client = hop
    return client


def key_of(day: dt.date) -> bytes:
    """Return the key of a day's digests; it is gone when the day's salt is removed."""
    row, _ = DailySalt.objects.get_or_create(
        day=day, defaults={"salt": secrets.token_bytes(_SALT_BYTES)}
    )
    return settings.SECRET_KEY.encode() + bytes(row.salt)


def subject(kind: str, value: str, key: bytes) -> str:
    """Return the digest under which `value` is counted on the day of the key (see `key_of`)."""
    return hmac.digest(key, f"{kind}\0{value}".encode(), hashlib.sha256).hex()


def _unit(address: _Address | None) -> str:
    """Return what counts as one address."""
    if address is None:
        return _UNKNOWN_ADDRESS
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
    return str(address)


def _parse(text: str) -> _Address | None:
    """Read an address as servers and proxies write it: bare, [bracketed], with port or zone."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _is_trusted(address: _Address, trusted_proxies: Sequence[Network]) -> bool:
    return any(address in network for network in trusted_proxies)
