from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.db import connection, transaction

from denpex.accounts.tiers import ANONYMOUS
from diagnosis import quota
from diagnosis.models import AllowanceCount, AllowanceEntry, Job
from diagnosis.quota import AllowanceSpentError, Claim
from diagnosis.visitors import Visitor
from tests.diagnosis.conftest import MakeJob

DAY = dt.date(2026, 12, 1)
HOME = "203.0.113.7"


def charges(cookie: str | None = None, given: str | None = None, address: str = HOME) -> Claim:
    return quota.anonymous_claim(ANONYMOUS, Visitor(address, cookie), DAY, given)


def take(make_job: MakeJob, asked: Claim, day: dt.date = DAY) -> Job:
    with transaction.atomic():
        job = make_job()
        quota.take(job, asked, day)
    return job


def times_taken(make_job: MakeJob, asked: Claim) -> int:
    """Take until nothing is left, and return how often that went well."""
    for number in range(100):
        try:
            take(make_job, asked)
        except AllowanceSpentError:
            return number
    raise AssertionError("the allowance has no end")


@pytest.mark.django_db
def test_three_a_day_for_a_cookie(make_job: MakeJob) -> None:
    assert times_taken(make_job, charges("one")) == 3


@pytest.mark.django_db
def test_three_a_day_for_an_address_without_cookie(make_job: MakeJob) -> None:
    assert times_taken(make_job, charges(None, "never kept")) == 3


@pytest.mark.django_db
def test_first_diagnosis_counts_against_the_cookie_it_gives(make_job: MakeJob) -> None:
    take(make_job, charges(None, "given"))

    assert times_taken(make_job, charges("given")) == 2


@pytest.mark.django_db
def test_fifteen_a_day_for_an_address_whatever_its_cookies(make_job: MakeJob) -> None:
    assert sum(times_taken(make_job, charges(f"cookie {n}")) for n in range(8)) == 15
    with pytest.raises(AllowanceSpentError) as raised:
        take(make_job, charges("one more"))
    assert raised.value.allowance.shared

    assert times_taken(make_job, charges("elsewhere", address="198.51.100.1")) == 3


@pytest.mark.django_db
def test_refusal_takes_nothing_from_any_count(make_job: MakeJob) -> None:
    times_taken(make_job, charges("one"))
    before = list(AllowanceCount.objects.order_by("pk").values_list("subject", "used"))

    with pytest.raises(AllowanceSpentError):
        take(make_job, charges("one"))

    assert list(AllowanceCount.objects.order_by("pk").values_list("subject", "used")) == before


@pytest.mark.django_db
def test_the_day_turns_at_midnight_utc(make_job: MakeJob) -> None:
    times_taken(make_job, charges("one"))

    with pytest.raises(AllowanceSpentError) as raised:
        take(make_job, charges("one"))
    tomorrow = DAY + dt.timedelta(days=1)
    take(make_job, charges("one"), day=tomorrow)

    assert raised.value.allowance.returns_at == dt.datetime(2026, 12, 2, tzinfo=dt.UTC)


@pytest.mark.django_db
def test_limit_of_zero_means_none(make_job: MakeJob) -> None:
    none = quota.anonymous_claim(replace(ANONYMOUS, diagnoses_a_day=0), Visitor(HOME, "one"), DAY)

    assert times_taken(make_job, none) == 0
    assert quota.left(none, DAY).left == 0


@pytest.mark.django_db
def test_left_is_that_of_the_tightest_count(make_job: MakeJob) -> None:
    take(make_job, charges("one"))

    allowance = quota.left(charges("one"), DAY)

    assert (allowance.limit, allowance.left, allowance.shared) == (3, 2, False)


@pytest.mark.django_db
def test_left_takes_nothing() -> None:
    quota.left(charges("one"), DAY)

    assert not AllowanceCount.objects.exists()


@pytest.mark.django_db
def test_refund_gives_back_once(make_job: MakeJob) -> None:
    job = take(make_job, charges("one"))
    take(make_job, charges("one"))

    assert [quota.refund(job.pk), quota.refund(job.pk)] == [True, False]

    assert quota.left(charges("one"), DAY).left == 2
    assert not AllowanceEntry.objects.filter(job=job).exists()


@pytest.mark.django_db
def test_refund_goes_to_the_day_it_was_taken(make_job: MakeJob) -> None:
    job = take(make_job, charges("one"))
    tomorrow = DAY + dt.timedelta(days=1)
    take(make_job, charges("one"), day=tomorrow)

    quota.refund(job.pk)

    assert quota.left(charges("one"), DAY).left == 3
    assert quota.left(charges("one"), tomorrow).left == 2


@pytest.mark.django_db
def test_refund_never_makes_a_count_negative(make_job: MakeJob) -> None:
    job = take(make_job, charges("one"))
    AllowanceCount.objects.update(used=0)

    quota.refund(job.pk)

    assert set(AllowanceCount.objects.values_list("used", flat=True)) == {0}


def at_once(number: int, work: Callable[[int], bool]) -> int:
    """Run `work` in that many threads, started together; return how many said yes."""
    start = threading.Barrier(number)

    def run(place: int) -> bool:
        start.wait()
        try:
            return work(place)
        finally:
            connection.close()

    with ThreadPoolExecutor(number) as threads:
        return sum(threads.map(run, range(number)))


@pytest.mark.django_db(transaction=True)
def test_exact_when_all_come_at_once(make_job: MakeJob) -> None:
    asked = charges("one")

    def work(_place: int) -> bool:
        try:
            take(make_job, asked)
        except AllowanceSpentError:
            return False
        return True

    assert at_once(8, work) == 3
    assert quota.left(asked, DAY).left == 0


@pytest.mark.django_db(transaction=True)
def test_taking_and_refunding_across_addresses_never_deadlocks(make_job: MakeJob) -> None:
    """One cookie that moves between two networks: whoever locks in another order would hang."""
    networks = (HOME, "198.51.100.1")
    asked = [charges("moving", address=network) for network in networks]

    def work(place: int) -> bool:
        for turn in range(10):
            try:
                job = take(make_job, asked[(place + turn) % 2])
            except AllowanceSpentError:
                continue
            with transaction.atomic():
                quota.refund(job.pk)
        return True

    assert at_once(6, work) == 6
    assert set(AllowanceCount.objects.values_list("used", flat=True)) == {0}
