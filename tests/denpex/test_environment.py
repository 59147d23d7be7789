"""What the environment says, and what is wrong with it."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from denpex import environment
from denpex.environment import VARIABLES, Environment, celery_broker_url

BASE = Path("/srv/denpex")
NEEDED = {
    "DATABASE_URL": "postgresql://denpex:secret@db/denpex",
    "REDIS_URL": "redis://redis:6379/0",
    "DENPEX_SECRET_KEY": "k" * 60,
}


def read(**variables: str) -> Environment:
    return environment.read(NEEDED | variables, BASE)


def test_it_works() -> None:
    found = read(
        DENPEX_ALLOWED_HOSTS="denpex.example, www.denpex.example",
        DENPEX_DATA="/var/lib/denpex",
        DENPEX_LOG_LIMIT_BYTES="2000000",
        TRUSTED_PROXIES="10.0.0.0/8, 192.0.2.7, 2001:db8::/32",
    )
    assert found.problems == ()
    assert found.allowed_hosts == ("denpex.example", "www.denpex.example")
    assert found.origin == "https://denpex.example"
    assert found.data == Path("/var/lib/denpex")
    assert found.log_limit_bytes == 2_000_000
    assert found.trusted_proxies == tuple(
        map(ipaddress.ip_network, ("10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"))
    )


def test_what_is_not_said_is_safe() -> None:
    found = read()
    assert not found.debug
    assert found.https
    assert found.allowed_hosts == ("localhost", "127.0.0.1", "[::1]")
    assert found.trusted_proxies == ()
    assert found.log_limit_bytes == 10_000_000
    assert found.data == BASE / ".denpex"


def test_an_empty_variable_counts_as_unset() -> None:
    assert read(DENPEX_LOG_LIMIT_BYTES=" ", DENPEX_DEBUG="").problems == ()


def test_debugging_needs_no_secret_key_and_no_https() -> None:
    found = environment.read(
        {**NEEDED, "DENPEX_SECRET_KEY": "", "DENPEX_DEBUG": "1"},
        BASE,
    )
    assert found.problems == ()
    assert not found.https
    assert found.secret_key


def test_a_debugging_key_signs_nothing_elsewhere() -> None:
    assert environment.read({**NEEDED, "DENPEX_SECRET_KEY": ""}, BASE).secret_key == ""


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("DENPEX_SECRET_KEY", "denpex.E002"),
        ("DATABASE_URL", "denpex.E003"),
        ("REDIS_URL", "denpex.E004"),
    ],
)
def test_what_is_needed_and_missing_is_a_problem(name: str, problem: str) -> None:
    (found,) = read(**{name: ""}).problems
    assert found.id == problem
    assert found.message == f"{name} is not set"
    assert VARIABLES[name] in found.hint


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DENPEX_DEBUG", "maybe", "'maybe' is neither 1 nor 0"),
        ("DENPEX_HTTPS", "https", "'https' is neither 1 nor 0"),
        ("DENPEX_LOG_LIMIT_BYTES", "10MB", "'10MB' is not a whole number above 0"),
        ("DENPEX_LOG_LIMIT_BYTES", "0", "'0' is not a whole number above 0"),
        ("DENPEX_LOG_LIMIT_BYTES", "-5", "'-5' is not a whole number above 0"),
        ("TRUSTED_PROXIES", "10.0.0.1/8", "10.0.0.1/8 has host bits set"),
        ("TRUSTED_PROXIES", "proxy.example", "does not appear to be an IPv4 or IPv6 network"),
        ("DENPEX_ORIGIN", "denpex.example", "'denpex.example' is not a scheme and a host"),
        ("DENPEX_ORIGIN", "https://denpex.example/app", "is not a scheme and a host"),
        ("DATABASE_URL", "sqlite:///db.sqlite3", "'sqlite' is not PostgreSQL"),
        ("DATABASE_URL", "postgresql://denpex:x@db:port/denpex", "is no port"),
        ("DATABASE_URL", "postgresql://denpex:se/cret@db/denpex", "is no port"),
        ("DATABASE_URL", "postgresql://denpex:x@[db/denpex", "is no port"),
        ("DENPEX_ALLOWED_HOSTS", " , ", "',' names no host"),
        ("DENPEX_MAIL_URL", "http://mail.example", "'http' is none of smtp, smtps"),
        ("DENPEX_MAIL_URL", "smtp://denpex:se/cret@mail.example", "no host and port can be read"),
        ("DENPEX_MAIL_URL", "smtp://", "no host and port can be read"),
        ("DENPEX_MAIL_FROM", "nobody", "'nobody' is not an e-mail address"),
        ("DENPEX_CONTACT", "nobody", "is neither an e-mail address nor an https:// address"),
        ("DENPEX_CONTACT", "http://denpex.example", "is neither an e-mail address nor"),
        ("REDIS_URL", "memory://", "'memory' is none of redis, rediss, unix, redis+socket"),
    ],
)
def test_what_cannot_be_read_is_a_problem(name: str, value: str, message: str) -> None:
    (found,) = read(**{name: value}).problems
    assert found.id == "denpex.E001"
    assert found.message.startswith(f"{name}: ")
    assert message in found.message
    assert VARIABLES[name] in found.hint


@pytest.mark.parametrize(
    "address", ["mysql://denpex:secret@db/denpex", "postgresql://denpex:secret/x@db/denpex"]
)
def test_a_problem_does_not_show_the_password_of_the_database(address: str) -> None:
    (found,) = read(DATABASE_URL=address).problems
    assert "secret" not in found.message


@pytest.mark.parametrize(
    ("written", "contact"),
    [
        ("ops@denpex.example", "mailto:ops@denpex.example"),
        ("https://denpex.example/security", "https://denpex.example/security"),
        ("", ""),
    ],
)
def test_a_contact_is_an_address_that_a_link_can_lead_to(written: str, contact: str) -> None:
    assert read(DENPEX_CONTACT=written).contact == contact


def test_every_problem_is_found_at_once() -> None:
    found = environment.read({"DENPEX_DEBUG": "x", "TRUSTED_PROXIES": "y"}, BASE)
    assert len(found.problems) == 5


@pytest.mark.parametrize("address", ["unix:///run/valkey.sock", "redis+socket:///run/valkey.sock"])
def test_a_socket_is_spelt_as_each_client_wants_it(address: str) -> None:
    redis_url = read(REDIS_URL=address).redis_url
    assert redis_url == "unix:///run/valkey.sock"
    assert celery_broker_url(redis_url) == "redis+socket:///run/valkey.sock"


def test_an_address_is_the_same_for_celery() -> None:
    assert celery_broker_url("redis://redis:6379/0") == "redis://redis:6379/0"
