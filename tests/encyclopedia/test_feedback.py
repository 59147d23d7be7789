"""Answers to "Was this it?" are counted by page and day, with nothing of who gave them."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from diagnosis.visitors import today
from encyclopedia import sync
from encyclopedia.catalogue import Catalogue
from encyclopedia.feedback import count
from encyclopedia.models import Failure, Feedback

ADDRESS = "/failures/scratch-disk-full/was-it/"


def counted() -> list[tuple[str, str, dt.date, int]]:
    return list(Feedback.objects.values_list("failure__slug", "answer", "day", "count"))


@pytest.mark.usefixtures("failures")
def test_it_works(client: Client) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post(ADDRESS, {"answer": "yes"})
    assert response.status_code == 303
    assert response["Location"] == f"{ADDRESS}yes/"
    assert not response.cookies
    assert counted() == [("scratch-disk-full", "yes", today(), 1)]
    client.post(ADDRESS, {"answer": "yes"})
    client.post(ADDRESS, {"answer": "no"})
    assert [(answer, number) for _slug, answer, _day, number in counted()] == [
        ("yes", 2),
        ("no", 1),
    ]


@pytest.mark.usefixtures("failures")
def test_the_form_of_the_page_is_sent_there(client: Client) -> None:
    page = client.get("/failures/scratch-disk-full/").text
    assert f'<form action="{ADDRESS}" method="post">' in page


@pytest.mark.usefixtures("failures")
def test_after_a_no_the_look_alikes_stand_before_the_paste_box(client: Client) -> None:
    page = client.get(f"{ADDRESS}no/").text
    assert page.index("What it may have been") < page.index('name="log"')
    assert 'href="/failures/scratch-quota-exceeded/"' in page
    assert 'name="log"' not in client.get(f"{ADDRESS}yes/").text


@pytest.mark.usefixtures("failures")
def test_an_older_name_counts_for_the_failure(client: Client) -> None:
    client.post("/failures/disk-full/was-it/", {"answer": "no"})
    assert [row[0] for row in counted()] == ["scratch-disk-full"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "http://[bad"},
    ],
)
@pytest.mark.usefixtures("failures")
def test_another_site_cannot_answer(client: Client, headers: dict[str, str]) -> None:
    response = client.post(ADDRESS, {"answer": "yes"}, headers=headers)
    assert response.status_code == 403
    assert "another site" in response.text
    assert counted() == []


@pytest.mark.parametrize("answer", ["", "maybe", "YES", "\0"])
@pytest.mark.usefixtures("failures")
def test_only_yes_and_no_are_answers(client: Client, answer: str) -> None:
    assert client.post(ADDRESS, {"answer": answer}).status_code == 400
    assert client.post(ADDRESS).status_code == 400
    assert counted() == []


@pytest.mark.usefixtures("failures")
def test_an_unknown_page_cannot_be_answered(client: Client) -> None:
    assert client.post("/failures/no-such/was-it/", {"answer": "yes"}).status_code == 404
    assert client.get(ADDRESS).status_code == 405
    assert client.get(f"{ADDRESS}maybe/").status_code == 404
    assert client.get("/failures/no-such/was-it/yes/").status_code == 404


@pytest.mark.usefixtures("failures")
def test_a_no_leads_to_the_paste_box_and_to_what_is_taken_for_it(client: Client) -> None:
    page = client.get(f"{ADDRESS}no/").text
    assert 'name="log"' in page
    assert "/failures/scratch-quota-exceeded/" in page
    assert "noindex" in page
    assert 'name="log"' not in client.get(f"{ADDRESS}yes/").text


@pytest.mark.usefixtures("failures")
def test_a_load_keeps_what_was_counted(client: Client, small_catalogue: Catalogue) -> None:
    client.post(ADDRESS, {"answer": "yes"})
    sync.load_failures(small_catalogue)
    assert len(counted()) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("failures")
def test_answers_at_one_moment_are_all_counted() -> None:
    failure = Failure.objects.get(slug="scratch-disk-full")

    def answer(_number: int) -> None:
        count(failure, "yes")
        connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(answer, range(20)))
    assert [row[3] for row in counted()] == [20]


@pytest.mark.usefixtures("failures")
def test_the_command_lists_the_pages_with_most_refusals_first() -> None:
    old = Failure.objects.get(slug="peer-closed")
    Feedback.objects.create(failure=old, day=today() - dt.timedelta(days=31), answer="no", count=9)
    for slug, yes, no in (("scratch-disk-full", 3, 1), ("scratch-quota-exceeded", 0, 2)):
        failure = Failure.objects.get(slug=slug)
        for answer, number in (("yes", yes), ("no", no)):
            for _ in range(number):
                count(failure, answer)
    output = StringIO()
    call_command("feedback", stdout=output)
    assert output.getvalue().split("\n") == [
        "     0 yes      2 no  scratch-quota-exceeded",
        "     3 yes      1 no  scratch-disk-full",
        "",
    ]
    output = StringIO()
    call_command("feedback", "--days", "60", stdout=output)
    assert output.getvalue().startswith("     0 yes      9 no  peer-closed\n")
