"""Several processes redeem one code at once, on PostgreSQL: exactly one wins."""

from __future__ import annotations

import pytest

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations.models import AuditEntry, Organisation
from tests.at_once import at_once
from tests.denpex.accounts.organisations.conftest import MakeMember, mint, minted

pytestmark = pytest.mark.django_db(transaction=True)

MODULE = "tests.denpex.accounts.organisations.redeem"


@pytest.fixture
def people(make_member: MakeMember) -> list[User]:
    return [make_member(name) for name in ("bob", "carol")]


def test_one_of_two_colleagues_wins(
    people: list[User], lab: Organisation, site_environment: dict[str, str], redis: object
) -> None:
    code = mint(lab, "bob@lab.example")
    said = at_once([(MODULE, str(account.pk), code) for account in people], site_environment)

    assert sorted(said) == ["redeemed", "used"]
    winner = people[said.index("redeemed")]
    assert Grant.objects.get(tier="evaluation").account == winner
    assert minted(code).redeemed_by == winner
    assert AuditEntry.objects.filter(event="redeemed").count() == 1


def test_one_of_many_clicks_of_one_account_wins(
    people: list[User], lab: Organisation, site_environment: dict[str, str], redis: object
) -> None:
    code = mint(lab, "bob@lab.example")
    said = at_once([(MODULE, str(people[0].pk), code)] * 4, site_environment)

    assert sorted(said) == ["redeemed", "replayed", "replayed", "replayed"]
    assert Grant.objects.filter(tier="evaluation").count() == 1
