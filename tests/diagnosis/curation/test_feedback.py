"""“This was wrong”: from the form on a verdict to the row that a curator reads."""

from __future__ import annotations

import pytest
from django.test import Client

from diagnosis.curation.models import Feedback
from encyclopedia import sync
from encyclopedia.catalogue import load
from tests.conftest import MakeAccount
from tests.diagnosis.conftest import Answered, case_log
from tests.diagnosis.history.conftest import SMALL_CATALOGUE, browser_of

pytestmark = pytest.mark.django_db

LOG = case_log("lab-disk-full-rank0-torchrun4")


@pytest.fixture
def visitor() -> Client:
    return Client(enforce_csrf_checks=True)


def test_it_works(visitor: Client, answered: Answered) -> None:
    job = answered(LOG)
    assert f'action="/d/{job.pk}/feedback/"' in visitor.get(f"/d/{job.pk}/").text

    form = {"suggested": "a broken cable", "words": "rank 3 went first"}
    response = visitor.post(f"/d/{job.pk}/feedback/", form)

    assert "Thank you, it is sent" in response.text
    feedback = Feedback.objects.get()
    assert (feedback.suggested, feedback.words) == ("a broken cable", "rank 3 went first")
    assert (feedback.outcome, feedback.said) == ("established", "disk-full-during-checkpoint-save")
    assert (feedback.account, feedback.entry, feedback.done_at) == (None, None, None)
    assert job.pk not in repr(vars(feedback))


def test_nothing_of_the_log_is_stored(visitor: Client, answered: Answered) -> None:
    job = answered(LOG)
    visitor.post(f"/d/{job.pk}/feedback/", {"suggested": "x", "words": ""})

    assert "unexpected pos" not in repr(vars(Feedback.objects.get()))


def test_what_is_typed_is_masked(visitor: Client, answered: Answered) -> None:
    job = answered(LOG)
    secret = "password=hunter2-hunter2 from 203.0.113.77"
    visitor.post(f"/d/{job.pk}/feedback/", {"suggested": secret, "words": secret})

    feedback = Feedback.objects.get()
    for text in (feedback.suggested, feedback.words):
        assert "hunter2" not in text
        assert "203.0.113.77" not in text


@pytest.mark.parametrize(
    "suggested",
    [
        "scratch-disk-full",
        " Scratch Disk Full During a Save ",
        "https://denpex.example/failures/scratch-disk-full/",
    ],
)
def test_a_failure_of_the_catalogue_is_known_by_its_names(
    visitor: Client, answered: Answered, suggested: str
) -> None:
    sync.load_failures(load(SMALL_CATALOGUE))
    job = answered(LOG)

    visitor.post(f"/d/{job.pk}/feedback/", {"suggested": suggested, "words": ""})

    assert Feedback.objects.get().suggested == "scratch-disk-full"


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"suggested": " ", "words": ""}, "Say which failure it was, or what we missed."),
        ({"suggested": "s" * 201, "words": "w"}, "at most 200 characters"),
        ({"suggested": "s", "words": "w" * 2001}, "at most 2000 characters"),
        ({"suggested": "s", "words": "a\x00"}, "Null characters are not allowed"),
    ],
)
def test_what_cannot_be_taken_is_told_and_not_lost(
    visitor: Client, answered: Answered, form: dict[str, str], told: str
) -> None:
    job = answered(LOG)

    response = visitor.post(f"/d/{job.pk}/feedback/", form)

    assert response.status_code == 400
    assert told in response.text
    assert all(text in response.text for text in form.values())
    assert not Feedback.objects.exists()


def test_feedback_of_an_account_goes_with_its_entry(
    make_account: MakeAccount, answered: Answered
) -> None:
    alice = make_account()
    job = answered(LOG)
    browser_of(alice).post(f"/d/{job.pk}/feedback/", {"suggested": "x", "words": ""})
    assert Feedback.objects.get().account == alice

    alice.delete()

    assert not Feedback.objects.exists()


@pytest.mark.parametrize("job_id", ["sample-disk-full", "a" * 26])
def test_there_is_none_for_samples_and_for_nothing(visitor: Client, redis, job_id: str) -> None:
    form = {"suggested": "x", "words": ""}

    assert visitor.post(f"/d/{job_id}/feedback/", form).status_code == 404
    assert "/feedback/" not in visitor.get("/d/sample-disk-full/").text


def test_another_site_sends_none(visitor: Client, answered: Answered) -> None:
    job = answered(LOG)

    response = visitor.post(
        f"/d/{job.pk}/feedback/",
        {"suggested": "x", "words": ""},
        headers={"Sec-Fetch-Site": "cross-site"},
    )

    assert response.status_code == 403
    assert not Feedback.objects.exists()


def test_it_is_limited(visitor: Client, answered: Answered) -> None:
    job = answered(LOG)
    form = {"suggested": "x", "words": ""}

    codes = [visitor.post(f"/d/{job.pk}/feedback/", form).status_code for _ in range(11)]

    assert codes == [200] * 10 + [429]
    assert Feedback.objects.count() == 10


def test_page_of_its_own_works_without_the_verdicts(visitor: Client, answered: Answered) -> None:
    job = answered(LOG)

    page = visitor.get(f"/d/{job.pk}/feedback/")

    assert page.status_code == 200
    assert "Which failure was it?" in page.text
