from __future__ import annotations

import pytest

from denpex.accounts.organisations import domains
from denpex.accounts.organisations.domains import Kind, kind_of, registrable_domain


@pytest.mark.parametrize(
    ("address", "domain"),
    [
        ("alice@lab.example", "lab.example"),
        ("alice@gpu.lab.example", "lab.example"),
        ("alice@cs.ox.ac.uk", "ox.ac.uk"),
        ("alice@team.bigco.co.uk", "bigco.co.uk"),
        ("alice@someone.github.io", "someone.github.io"),
        ("alice@GPU.Lab.Example.", "lab.example"),
        ("alice@post.münchen.de", "xn--mnchen-3ya.de"),
        ("alice@xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("alice@co.uk", ""),
        ("alice@localhost", ""),
        (f"alice@{'ü' * 60}.example", ""),
        ("alice@a..example", ""),
        ("", ""),
    ],
)
def test_registrable_domain_is_what_its_owner_registered(address: str, domain: str) -> None:
    assert registrable_domain(address) == domain


@pytest.mark.parametrize(
    "address",
    [
        "alice@gmail.com",
        "alice@yahoo.co.uk",
        "alice@hotmail.fr",
        "alice@live.com",
        "alice@mail.qq.com",
        "alice@proton.me",
        "alice@co.uk",
    ],
)
def test_addresses_that_everybody_can_have_are_free_mail(address: str) -> None:
    assert kind_of(address) is Kind.FREE_MAIL


@pytest.mark.parametrize("address", ["alice@mailinator.com", "alice@x.mailinator.com"])
def test_domain_on_a_list_of_throw_away_mail_is_suspected(address: str) -> None:
    assert kind_of(address) is Kind.SUSPECTED


@pytest.mark.parametrize(
    "address", ["alice@lab.example", "alice@google.com", "alice@uni-bonn.de", "a@gmailer.example"]
)
def test_other_domains_are_workplaces(address: str) -> None:
    assert kind_of(address) is Kind.WORKPLACE


def test_every_free_domain_of_the_file_can_be_met() -> None:
    """An entry that is no registrable domain would never be compared with anything."""
    listed = domains._free_mail()["domains"]

    assert [registrable_domain(f"a@{domain}") for domain in listed] == listed
    assert len(set(listed)) == len(listed)
    assert not {domain.partition(".")[0] for domain in listed} & domains._free_names()
