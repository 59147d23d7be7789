from __future__ import annotations

import datetime as dt

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.standing import current_grant, tier_of
from denpex.accounts.tiers import ANONYMOUS, EVALUATION_PERIOD
from tests.conftest import MakeAccount

pytestmark = pytest.mark.django_db


def give(account: User, tier: str, **fields: object) -> Grant:
    return Grant.objects.create(account=account, tier=tier, why="a test", **fields)


def standing(account: User) -> tuple[str, int]:
    tier = tier_of(account)
    return tier.key, tier.diagnoses_a_day


def test_nobody_is_anonymous() -> None:
    assert tier_of(AnonymousUser()) is ANONYMOUS


def test_a_verified_address_gives_two_more(make_account: MakeAccount) -> None:
    assert standing(make_account("new@example.org")) == ("account", 3)
    assert standing(make_account("old@example.org", verified=True)) == ("verified", 5)


def test_the_highest_grant_counts(alice: User) -> None:
    give(alice, "organisation")
    assert standing(alice) == ("organisation", 10)

    give(alice, "evaluation")
    assert standing(alice) == ("evaluation", 50)


def test_staff_may_give_more_than_the_tier(alice: User) -> None:
    give(alice, "scale", diagnoses_a_day=400)

    assert standing(alice) == ("scale", 400)


def test_a_limit_of_zero_goes_before_all(alice: User) -> None:
    give(alice, "scale")
    give(alice, "account", diagnoses_a_day=0)

    assert standing(alice) == ("account", 0)


def test_an_evaluation_ends_by_itself(alice: User) -> None:
    now = timezone.now()
    period = give(alice, "evaluation", begins_at=now, ends_at=now + EVALUATION_PERIOD)
    assert standing(alice) == ("evaluation", 50)
    assert current_grant(alice) == period

    Grant.objects.update(begins_at=now - EVALUATION_PERIOD, ends_at=now)

    assert standing(alice) == ("account", 3)
    assert Grant.objects.exists()


def test_a_grant_that_has_not_begun_does_not_count(alice: User) -> None:
    give(alice, "scale", begins_at=timezone.now() + dt.timedelta(minutes=1))

    assert standing(alice) == ("account", 3)


def test_grants_of_others_do_not_count(alice: User, make_account: MakeAccount) -> None:
    give(make_account("bob@example.org"), "scale")

    assert standing(alice) == ("account", 3)
