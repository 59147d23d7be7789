"""What the process environment says: read once, checked, and never fatal.

A value that cannot be read is written down as a `Problem` and its default used instead, so that
`manage.py check` (and the WSGI entry point) can name every mistake at once, with what to do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

__all__ = [
    "VARIABLES",
    "Environment",
    "MailServer",
    "Network",
    "Problem",
    "celery_broker_url",
    "read",
]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Value = TypeVar("_Value")

LOCAL_HOSTS: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
LOG_LIMIT_BYTES = 10_000_000
MAIL_PORTS: Mapping[str, int] = {"smtp": 587, "smtps": 465}
POSTGRESQL_SCHEMES = ("postgres", "postgresql")
REDIS_SCHEMES = ("redis", "rediss", "unix", "redis+socket")
# For a debug server alone: without debugging, a missing DENPEX_SECRET_KEY is a problem.
_DEBUG_SECRET_KEY = "django-insecure-for-a-debug-server-on-this-machine-alone"  # noqa: S105

VARIABLES: Mapping[str, str] = {
    "DATABASE_URL": "PostgreSQL, as postgresql://user:password@host:5432/name; needed",
    "REDIS_URL": "Redis or Valkey, as redis://host:6379/0 or unix:///path/to/socket; needed",
    "DENPEX_SECRET_KEY": "signs cookies, 50 random characters or more; needed unless debugging",
    "DENPEX_ALLOWED_HOSTS": f"host names served, with commas; {','.join(LOCAL_HOSTS)} by default",
    "DENPEX_ORIGIN": "the public address, as https://denpex.example; the first host by default",
    "DENPEX_HTTPS": "0 where the site is served over plain HTTP; 1 by default unless debugging",
    "DENPEX_DEBUG": "1 for development alone; 0 by default",
    "DENPEX_DATA": "the folder for everything the site writes; .denpex by default",
    "TRUSTED_PROXIES": "addresses or networks whose X-Forwarded-For counts, with commas; none",
    "DENPEX_MAIL_URL": "a mail server, as smtp://user:password@host:587; files in DENPEX_DATA/mail",
    "DENPEX_MAIL_FROM": "the sender of mail; denpex@ and the host of DENPEX_ORIGIN by default",
    "DENPEX_CONTACT": "where to write about privacy and security, an e-mail or https address; none",
    "DENPEX_LOG_LIMIT_BYTES": f"the largest log after unpacking; {LOG_LIMIT_BYTES} by default",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A wrong setting: the id of its system check, what is wrong, and what to do."""

    id: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed over; `tls_at_once` is TLS from the first byte, else STARTTLS."""

    host: str
    port: int
    user: str
    password: str
    tls_at_once: bool


@dataclass(frozen=True, slots=True)
class Environment:
    """The settings that differ from one installation to the next; sizes are in bytes."""

    debug: bool
    https: bool
    secret_key: str
    allowed_hosts: tuple[str, ...]
    origin: str
    database_url: str
    redis_url: str
    data: Path
    trusted_proxies: tuple[Network, ...]
    mail_server: MailServer | None
    mail_from: str
    contact: str
    log_limit_bytes: int
    problems: tuple[Problem, ...]


def read(variables: Mapping[str, str], base: Path) -> Environment:
    """Read the variables of `VARIABLES`; a relative DENPEX_DATA stands below `base`."""
    reader = _Reader(variables)
    debug = reader.value("DENPEX_DEBUG", _boolean, default=False)
    https = reader.value("DENPEX_HTTPS", _boolean, default=not debug)
    hosts = reader.value("DENPEX_ALLOWED_HOSTS", _hosts, default=LOCAL_HOSTS)
    origin = reader.value("DENPEX_ORIGIN", _origin, default=_default_origin(hosts, https=https))
    secret_key = reader.value("DENPEX_SECRET_KEY", str, default=_DEBUG_SECRET_KEY if debug else "")
    return Environment(
        debug=debug,
        https=https,
        secret_key=secret_key,
        allowed_hosts=hosts,
        origin=origin,
        database_url=reader.value("DATABASE_URL", _database_url, default=""),
        redis_url=reader.value("REDIS_URL", _redis_url, default=""),
        data=base / reader.value("DENPEX_DATA", Path, default=Path(".denpex")),
        trusted_proxies=reader.value("TRUSTED_PROXIES", _networks, default=()),
        mail_server=reader.value("DENPEX_MAIL_URL", _mail_server, default=None),
        mail_from=reader.value("DENPEX_MAIL_FROM", _sender, default=_default_sender(origin)),
        contact=reader.value("DENPEX_CONTACT", _contact, default=""),
        log_limit_bytes=reader.value("DENPEX_LOG_LIMIT_BYTES", _positive, default=LOG_LIMIT_BYTES),
        problems=(*reader.problems, *_missing(variables, secret_key)),
    )


def celery_broker_url(redis_url: str) -> str:
    """Return `redis_url` as Celery spells it: a socket is `redis+socket://` there."""
    return redis_url.replace("unix://", "redis+socket://", 1)


class _Reader:
    """Converts variables one by one and keeps the problems it meets."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.problems: list[Problem] = []

    def value(self, name: str, convert: Callable[[str], _Value], *, default: _Value) -> _Value:
        text = self.variables.get(name, "").strip()
        if not text:
            return default
        try:
            return convert(text)
        except ValueError as error:
            self.problems.append(Problem("denpex.E001", f"{name}: {error}", _hint(name)))
            return default


def _missing(variables: Mapping[str, str], secret_key: str) -> Iterator[Problem]:
    needed = (
        ("denpex.E002", "DENPEX_SECRET_KEY", secret_key),
        ("denpex.E003", "DATABASE_URL", variables.get("DATABASE_URL")),
        ("denpex.E004", "REDIS_URL", variables.get("REDIS_URL")),
    )
    for check_id, name, value in needed:
        if not value:
            yield Problem(check_id, f"{name} is not set", _hint(name))


def _hint(name: str) -> str:
    return f"{name}: {VARIABLES[name]}. `make run` sets what one machine needs by itself."


def _boolean(text: str) -> bool:
    truth = {"1": True, "true": True, "yes": True, "on": True}
    truth |= {"0": False, "false": False, "no": False, "off": False}
    if text.lower() not in truth:
        raise ValueError(f"{text!r} is neither 1 nor 0")
    return truth[text.lower()]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _hosts(text: str) -> tuple[str, ...]:
    hosts = _words(text)
    if not hosts:
        raise ValueError(f"{text!r} names no host")
    return hosts


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ValueError(f"{text!r} is not a whole number above 0")
    return int(text)


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(word) for word in _words(text))


def _origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path.strip("/"):
        raise ValueError(f"{text!r} is not a scheme and a host")
    return f"{parts.scheme}://{parts.netloc}"


def _default_origin(hosts: tuple[str, ...], *, https: bool) -> str:
    host = hosts[0].lstrip("*.") or LOCAL_HOSTS[0]
    return f"{'https' if https else 'http'}://{host}"


def _database_url(text: str) -> str:
    # The address holds a password, so that the messages name its scheme alone.
    scheme = text.partition(":")[0]
    if scheme not in POSTGRESQL_SCHEMES:
        raise ValueError(f"{scheme!r} is not PostgreSQL, the only database that is supported")
    if not _has_readable_port(text):
        raise ValueError(
            "the part behind the host is no port; a password's own / # ? : @ are written as"
            " %2F %23 %3F %3A %40"
        )
    return text


def _has_readable_port(address: str) -> bool:
    try:
        return urlsplit(address).port != 0
    except ValueError:
        return False


def _redis_url(text: str) -> str:
    scheme = urlsplit(text).scheme
    if scheme not in REDIS_SCHEMES:
        raise ValueError(f"{scheme!r} is none of {', '.join(REDIS_SCHEMES)}")
    return text.replace("redis+socket://", "unix://", 1)


def _mail_server(text: str) -> MailServer | None:
    # The address holds a password, so that the messages name its scheme alone.
    scheme = text.partition(":")[0]
    if scheme not in MAIL_PORTS:
        raise ValueError(f"{scheme!r} is none of {', '.join(MAIL_PORTS)}")
    if not _has_readable_port(text) or not urlsplit(text).hostname:
        raise ValueError(
            "no host and port can be read; a password's own / # ? : @ are written as"
            " %2F %23 %3F %3A %40"
        )
    parts = urlsplit(text)
    return MailServer(
        host=parts.hostname or "",
        port=parts.port or MAIL_PORTS[scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls_at_once=scheme == "smtps",
    )


def _sender(text: str) -> str:
    if "@" not in parseaddr(text)[1]:
        raise ValueError(f"{text!r} is not an e-mail address")
    return text


def _contact(text: str) -> str:
    if text.startswith("https://") and urlsplit(text).hostname:
        return text
    if "@" not in parseaddr(text)[1] or parseaddr(text)[1] != text:
        raise ValueError(f"{text!r} is neither an e-mail address nor an https:// address")
    return f"mailto:{text}"


def _default_sender(origin: str) -> str:
    return f"Denpex <denpex@{urlsplit(origin).hostname}>"
