from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import codes
from denpex.accounts.organisations.models import EvaluationCode, EvaluationRequest, Organisation
from denpex.accounts.organisations.tasks import keep_dates
from denpex.celery import app
from denpex.processes import Child
from tests.denpex.accounts.organisations.conftest import MakeMember, mint, requested
from tests.diagnosis.test_faults import wait_for

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def test_old_unproved_requests_are_forgotten(alice: User) -> None:
    kept = requested(alice, "alice@lab.example")
    fresh, old = (
        EvaluationRequest.objects.create(
            account=alice,
            address=f"{days}@lab.example",
            organisation_name="The Lab",
            purpose="x",
            link_digest=str(days),
            link_expires_at=timezone.now() - days * DAY,
        )
        for days in (1, 31)
    )
    keep_dates()

    assert set(EvaluationRequest.objects.all()) == {kept, fresh}
    assert old.address == "31@lab.example"


@pytest.mark.django_db(transaction=True)
def test_worker_keeps_the_dates(
    make_member: MakeMember, lab: Organisation, redis: object, start_worker: Callable[[], Child]
) -> None:
    """What beat asks for every half hour is done by a worker.

    It starts when the codes are read from the mails that wait: it would send those off.
    """
    bob = make_member("bob")
    codes.redeem(bob, mint(lab, "bob@lab.example"))
    Grant.objects.filter(tier="evaluation").update(ends_at=timezone.now() + 2 * DAY)
    mint(lab, "bob@lab.example", is_further=True)
    EvaluationCode.objects.filter(state="live").update(expires_at=timezone.now() - DAY)
    entry = app.conf.beat_schedule["keep-dates-of-evaluations"]
    start_worker()

    app.send_task(entry["task"], **entry["options"])

    wait_for(EvaluationCode.objects.filter(reminded_at__isnull=False).exists)
    wait_for(EvaluationCode.objects.filter(state="expired").exists)
    assert entry["schedule"] <= 3600
