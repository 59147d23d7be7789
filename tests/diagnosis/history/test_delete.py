from __future__ import annotations

import pytest
from django.test import Client
from redis import Redis

from denpex.accounts.models import User
from diagnosis.history.models import HistoryEntry, HistoryFile
from diagnosis.models import Job
from tests.diagnosis.history.conftest import ODD, Diagnosed

pytestmark = pytest.mark.django_db


def test_it_works(as_alice: Client, alice: User, diagnosed: Diagnosed, redis: Redis) -> None:
    entry, other = diagnosed(alice), diagnosed(alice, ODD)

    response = as_alice.post(f"/account/history/{entry.pk}/delete/", follow=True)

    assert response.redirect_chain == [("/account/history/", 302)]
    assert "Verdict and log are deleted." in response.text
    assert list(HistoryEntry.objects.all()) == [other]
    assert HistoryFile.objects.count() == Job.objects.count() == 1
    assert not redis.keys(f"*{entry.pk}*")
    assert as_alice.get(f"/d/{entry.pk}/").status_code == 404
