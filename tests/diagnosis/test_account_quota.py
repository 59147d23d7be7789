"""What an account has, takes and gets back; also when many processes take at once."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from django.db import transaction

from denpex.accounts.models import Grant, User
from denpex.accounts.tiers import TIERS
from diagnosis import quota
from diagnosis.models import AllowanceCount, Job, WelcomeCount
from diagnosis.quota import AllowanceSpentError
from tests.at_once import at_once
from tests.conftest import MakeAccount
from tests.diagnosis.conftest import MakeJob

DAY = dt.date(2026, 12, 1)
TOMORROW = DAY + dt.timedelta(days=1)
VERIFIED = TIERS["verified"]
PROCESSES = 6


@pytest.fixture
def account(db: None) -> User:
    return User.objects.create_user("alice@example.org")


def take(make_job: MakeJob, account: User, tier=VERIFIED, day: dt.date = DAY) -> Job:
    with transaction.atomic():
        job = make_job(account=account)
        quota.take(job, quota.account_claim(account, tier, day), day)
    return job


def left(account: User, tier=VERIFIED, day: dt.date = DAY) -> tuple[int, int]:
    allowance = quota.allowance_of(account, tier, day)
    return allowance.welcome, allowance.left


def test_new_account_has_three_besides_the_day(account: User) -> None:
    assert left(account) == (3, 5)


def test_the_first_three_do_not_count_against_the_day(account: User, make_job: MakeJob) -> None:
    seen = []
    for _ in range(4):
        take(make_job, account)
        seen.append(left(account))

    assert seen == [(2, 5), (1, 5), (0, 5), (0, 4)]


def test_eight_on_the_first_day_and_five_on_the_next(account: User, make_job: MakeJob) -> None:
    for day, number in ((DAY, 8), (TOMORROW, 5)):
        for _ in range(number):
            take(make_job, account, day=day)
        with pytest.raises(AllowanceSpentError) as raised:
            take(make_job, account, day=day)
        assert raised.value.allowance.limit == 5
        assert not raised.value.allowance.shared


def test_refund_goes_where_it_came_from(account: User, make_job: MakeJob) -> None:
    first, *_, fourth = [take(make_job, account) for _ in range(4)]

    assert [quota.refund(fourth.pk), left(account)] == [True, (0, 5)]
    assert [quota.refund(first.pk), left(account)] == [True, (1, 5)]
    assert [quota.refund(first.pk), left(account)] == [False, (1, 5)]


def test_refund_never_makes_the_welcome_negative(account: User, make_job: MakeJob) -> None:
    job = take(make_job, account)
    WelcomeCount.objects.update(used=0)

    quota.refund(job.pk)

    assert WelcomeCount.objects.get().used == 0


def test_limit_of_zero_shuts_off_the_welcome_too(account: User, make_job: MakeJob) -> None:
    none = replace(VERIFIED, diagnoses_a_day=0)

    assert left(account, none) == (0, 0)
    with pytest.raises(AllowanceSpentError):
        take(make_job, account, none)


def test_accounts_do_not_share(account: User, make_job: MakeJob) -> None:
    for _ in range(8):
        take(make_job, account)

    assert left(User.objects.create_user("bob@example.org")) == (3, 5)


def test_a_tier_raised_during_the_day_keeps_what_was_taken(
    account: User, make_job: MakeJob
) -> None:
    for _ in range(5):
        take(make_job, account)

    assert left(account, TIERS["evaluation"]) == (0, 48)


def test_what_is_counted_names_nobody(account: User, make_job: MakeJob) -> None:
    for _ in range(4):
        take(make_job, account)

    counted = AllowanceCount.objects.get().subject
    assert len(counted) == 64
    assert counted != quota.account_claim(account, VERIFIED, TOMORROW).charges[0].subject


# Many processes


@pytest.mark.django_db(transaction=True)
def test_exact_when_many_processes_take_and_fail_at_once(
    make_account: MakeAccount, site_environment: dict[str, str], redis: object
) -> None:
    """24 logs from 6 processes at once: eight are taken, and what fails is given back once."""
    account = make_account(verified=True)

    assert sum(work_at_once("submit", account, site_environment)) == 8
    assert account.jobs.count() == 8
    assert quota_now(account) == (0, 0)

    work_at_once("fail", account, site_environment)
    assert set(account.jobs.values_list("state", flat=True)) == {Job.State.FAILED}
    assert quota_now(account) == (3, 5)


@pytest.mark.django_db(transaction=True)
def test_many_processes_take_nothing_where_the_limit_is_zero(
    make_account: MakeAccount, site_environment: dict[str, str], redis: object
) -> None:
    account = make_account(verified=True)
    Grant.objects.create(account=account, tier="scale", diagnoses_a_day=0, why="blocked")

    assert sum(work_at_once("submit", account, site_environment)) == 0
    assert not account.jobs.exists()


def quota_now(account: User) -> tuple[int, int]:
    from diagnosis.visitors import today

    return left(account, day=today())


def work_at_once(work: str, account: User, environment: dict[str, str]) -> list[int]:
    """Let processes of their own do the work, all from one moment on; return what each says."""
    command = ("tests.diagnosis.spend", str(account.pk), work)
    return [int(said) for said in at_once([command] * PROCESSES, environment)]
