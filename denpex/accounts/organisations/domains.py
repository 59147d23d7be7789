"""What the domain of an e-mail address says about a workplace."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator
from pathlib import Path

import yaml
from disposable_email_domains import blocklist
from django.utils.encoding import punycode
from publicsuffixlist import PublicSuffixList

__all__ = ["Kind", "kind_of", "registrable_domain"]

_FREE_MAIL_FILE = Path(__file__).with_name("free_mail.yaml")


class Kind(enum.Enum):
    """What an address shows about where its owner works."""

    WORKPLACE = enum.auto()
    FREE_MAIL = enum.auto()
    # On a list of throw-away mail. Such lists hold many a workplace, too: a person decides.
    SUSPECTED = enum.auto()


def registrable_domain(address: str) -> str:
    """Return what the owner of the domain has registered, as ASCII: `cs.uni.ac.uk` is `uni.ac.uk`.

    It is empty where the domain is a public suffix itself, under which everybody registers.
    """
    return _suffixes().privatesuffix(_host(address)) or ""


def kind_of(address: str) -> Kind:
    """Say what an address shows; a domain that nobody can register shows as much as free mail."""
    domain = registrable_domain(address)
    if not domain or domain in _free_domains() or domain.partition(".")[0] in _free_names():
        return Kind.FREE_MAIL
    if any(parent in blocklist for parent in _parents(_host(address))):
        return Kind.SUSPECTED
    return Kind.WORKPLACE


def _host(address: str) -> str:
    """Return the domain as ASCII; nothing where no name server could know it."""
    try:
        return punycode(address.rpartition("@")[2].strip().rstrip(".")).lower()
    except UnicodeError:
        return ""


def _parents(host: str) -> Iterator[str]:
    labels = host.split(".")
    return (".".join(labels[start:]) for start in range(len(labels) - 1))


@functools.cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@functools.cache
def _free_mail() -> dict[str, list[str]]:
    read: dict[str, list[str]] = yaml.safe_load(_FREE_MAIL_FILE.read_text())
    return read


@functools.cache
def _free_domains() -> frozenset[str]:
    return frozenset(_free_mail()["domains"])


@functools.cache
def _free_names() -> frozenset[str]:
    return frozenset(_free_mail()["names"])
