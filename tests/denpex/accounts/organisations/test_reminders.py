from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import codes, reminders
from denpex.accounts.organisations.models import EvaluationCode, Organisation
from denpex.mail.models import WaitingMail
from tests.denpex.accounts.organisations.conftest import MakeMember, mail_to, mint, steps

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

DAY = dt.timedelta(days=1)


@pytest.fixture
def bob(make_member: MakeMember, lab: Organisation) -> User:
    bob = make_member("bob")
    codes.redeem(bob, mint(lab, "bob@lab.example"))
    WaitingMail.objects.all().delete()
    return bob


def let_it_end(after: dt.timedelta) -> None:
    ends_at = timezone.now() + after
    Grant.objects.filter(tier="evaluation").update(ends_at=ends_at, begins_at=ends_at - 14 * DAY)


def test_it_works(bob: User) -> None:
    let_it_end(2 * DAY)
    reminders.remind()

    mail = mail_to("bob@lab.example")
    assert "by itself. Nothing is charged and nothing renews it." in mail
    assert "your account has 10 diagnoses a day" in mail
    assert "kept for 90 days" in mail
    assert steps()[-1] == "reminded"


@pytest.mark.parametrize("after", [4 * DAY, -DAY])
def test_nobody_is_told_too_early_or_too_late(bob: User, after: dt.timedelta) -> None:
    let_it_end(after)
    reminders.remind()

    assert not WaitingMail.objects.exists()


def test_one_mail_is_sent_however_often_it_is_looked(bob: User) -> None:
    let_it_end(2 * DAY)
    due = list(reminders._due())
    reminders.remind()
    reminders.remind()
    reminders._remind(due[0])

    assert WaitingMail.objects.count() == 1


def test_who_left_the_organisation_is_told_at_the_account(bob: User) -> None:
    bob.memberships.get().delete()
    let_it_end(2 * DAY)
    reminders.remind()

    assert WaitingMail.objects.get().recipient == bob.email


def test_what_comes_after_is_what_would_hold_now(bob: User) -> None:
    Grant.objects.create(account=bob, tier="scale", diagnoses_a_day=200, why="a contract")
    let_it_end(2 * DAY)
    reminders.remind()

    assert "your account has 200 diagnoses a day" in mail_to("bob@lab.example")


def test_evaluation_that_staff_ended_is_not_announced(bob: User) -> None:
    let_it_end(-DAY)
    reminders.remind()

    assert EvaluationCode.objects.get().reminded_at is None
