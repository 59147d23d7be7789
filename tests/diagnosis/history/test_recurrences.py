from __future__ import annotations

import datetime as dt

import pytest

from denpex.accounts.models import User
from diagnosis.history import recurrences
from diagnosis.history.recurrences import Time, tell
from tests.diagnosis.history.conftest import DISK_FULL, ODD, Diagnosed, numbered

FIRST = dt.datetime(2026, 11, 12, 9, 30, tzinfo=dt.UTC)


def times(*places: tuple[int | None, str]) -> list[Time]:
    return [
        Time(f"log {number}", FIRST + dt.timedelta(days=number), rank, host)
        for number, (rank, host) in enumerate(places)
    ]


def words(*places: tuple[int | None, str]) -> str:
    recurrence = tell(times(*places))
    assert recurrence is not None
    return recurrence.words


def test_it_works() -> None:
    assert words(*[(3, "host-2")] * 4) == (
        "the 4th time since 12 November 2026, on host-2 each time"
    )


def test_once_is_no_recurrence() -> None:
    assert tell(times((3, "host-2"))) is None
    assert tell([]) is None


def test_equal_logs_are_one_time() -> None:
    assert tell(times((3, "host-2")) * 2) is None


def test_a_host_of_most_times_is_named_with_how_often() -> None:
    assert words((0, "a"), (0, "b"), (1, "b"), (2, "b")).endswith("on b in 3 of the 4")


def test_half_of_the_times_is_not_most() -> None:
    assert words((0, "a"), (1, "a"), (2, "b"), (3, "b")).endswith("2026")


def test_where_no_host_is_known_the_rank_is_named() -> None:
    assert words((5, ""), (5, "")).endswith("rank 5 each time")
    assert words((None, ""), (None, "")) == "the 2nd time since 12 November 2026"


@pytest.mark.django_db
def test_an_entry_counts_what_came_before_it(alice: User, diagnosed: Diagnosed) -> None:
    entries = [
        diagnosed(
            alice, numbered(DISK_FULL, n), created_at=FIRST + dt.timedelta(days=n), host="host-2"
        )
        for n in range(3)
    ]

    found = recurrences.of_entries(alice, entries)

    assert entries[0].pk not in found
    assert found[entries[1].pk].words.startswith("the 2nd time since 12 November 2026, on host-2")
    assert found[entries[2].pk].count == 3


@pytest.mark.django_db
def test_other_failures_and_other_accounts_count_for_nothing(
    alice: User, bob: User, diagnosed: Diagnosed
) -> None:
    diagnosed(bob, numbered(DISK_FULL, 1))
    diagnosed(alice, ODD)
    entry = diagnosed(alice, numbered(DISK_FULL, 2))

    assert recurrences.of_entries(alice, [entry]) == {}


@pytest.mark.django_db
def test_an_unknown_failure_recurs_by_its_fingerprint(alice: User, diagnosed: Diagnosed) -> None:
    diagnosed(alice, ODD)
    entry = diagnosed(alice, ODD.replace(b"line 3", b"line 4"))

    assert recurrences.of_entries(alice, [entry])[entry.pk].count == 2


@pytest.mark.django_db
def test_verdicts_without_a_failure_do_not_recur(alice: User, diagnosed: Diagnosed) -> None:
    healthy = b"step %d of 100, loss 2.0\n" * 20
    entries = [diagnosed(alice, numbered(healthy, n)) for n in range(2)]

    assert {entry.outcome for entry in entries} == {"no_failure"}
    assert recurrences.of_entries(alice, entries) == {}
    assert recurrences.most_frequent(alice, 5) == []


@pytest.mark.django_db
def test_what_comes_most_often_is_first(alice: User, diagnosed: Diagnosed) -> None:
    for number in range(2):
        diagnosed(alice, numbered(ODD, number))
    for number in range(3):
        newest = diagnosed(alice, numbered(DISK_FULL, number))
    diagnosed(alice, b"[rank0]: ZeroDivisionError: division by zero\n")

    found = recurrences.most_frequent(alice, 5)

    assert [recurrence.count for _, recurrence in found] == [3, 2]
    assert found[0][0] == newest
    assert len(recurrences.most_frequent(alice, 1)) == 1
