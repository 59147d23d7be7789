"""What came before: how often an account met the failure of a verdict, since when, and where.

Equal logs are one time, however often they were pasted.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import ordinal
from django.db.models import Count, Max, Q

from denpex.accounts.models import User
from diagnosis.history.models import HistoryEntry

__all__ = ["Recurrence", "Time", "most_frequent", "of_entries", "tell"]

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Time:
    """One time that a failure came."""

    log_digest: str
    at: dt.datetime
    rank: int | None
    host: str


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The times that a failure came, up to one of them.

    `place` says on which host or rank, where most of them share one; `since` is the first time.
    """

    count: int
    since: dt.datetime
    place: str

    @property
    def words(self) -> str:
        """The recurrence in words: "the 4th time since 12 November, on host-2 in 3 of the 4"."""
        place = f", {self.place}" if self.place else ""
        return f"the {ordinal(self.count)} time since {self.since:%-d %B %Y}{place}"


def of_entries(account: User, entries: Sequence[HistoryEntry]) -> Mapping[str, Recurrence]:
    """Return the recurrence of each entry whose failure came before, by the entry's id."""
    named = [entry for entry in entries if entry.names_a_failure]
    times = _times(account, {_key(entry) for entry in named})
    found = {}
    for entry in named:
        earlier = [time for time in times[_key(entry)] if time.at <= entry.created_at]
        recurrence = tell(earlier)
        if recurrence is not None:
            found[entry.pk] = recurrence
    return found


def most_frequent(account: User, most: int) -> Sequence[tuple[HistoryEntry, Recurrence]]:
    """Return the failures that came more than once, as their newest entry and how often."""
    own = HistoryEntry.objects.of(account)
    times = own.order_by().values_list("failure", "fingerprint").exclude(failure="", fingerprint="")
    counted = times.annotate(logs=Count("log_digest", distinct=True), newest=Max("created_at"))
    keys = counted.filter(logs__gt=1).order_by("-logs", "-newest")[:most]
    found = (
        own.listed().filter(failure=failure, fingerprint=fingerprint).first()
        for failure, fingerprint, *_ in keys
    )
    newest = [entry for entry in found if entry is not None]
    recurrences = of_entries(account, newest)
    return [(entry, recurrences[entry.pk]) for entry in newest if entry.pk in recurrences]


def tell(times: Iterable[Time]) -> Recurrence | None:
    """Return what the times (from the first on) have in common; None where there is but one."""
    distinct: dict[str, Time] = {}
    for time in times:
        distinct.setdefault(time.log_digest, time)
    if len(distinct) < 2:
        return None
    places = list(distinct.values())
    return Recurrence(len(places), places[0].at, _shared_place(places))


def _times(account: User, keys: Iterable[_Key]) -> Mapping[_Key, Sequence[Time]]:
    times: defaultdict[_Key, list[Time]] = defaultdict(list)
    wanted = Q(pk__in=[])
    for failure, fingerprint in keys:
        wanted |= Q(failure=failure, fingerprint=fingerprint)
    columns = ("failure", "fingerprint", "log_digest", "created_at", "rank", "host")
    found = HistoryEntry.objects.of(account).filter(wanted).order_by("created_at", "pk")
    for failure, fingerprint, *time in found.values_list(*columns):
        times[failure, fingerprint].append(Time(*time))
    return times


def _key(entry: HistoryEntry) -> _Key:
    return (entry.failure, entry.fingerprint)


def _shared_place(times: Sequence[Time]) -> str:
    """Name the host of most times, else the rank of most; "" where neither recurs."""
    hosts = (time.host and f"on {time.host}" for time in times)
    ranks = ("" if time.rank is None else f"rank {time.rank}" for time in times)
    return _mostly(hosts, len(times)) or _mostly(ranks, len(times))


def _mostly(places: Iterable[str], times: int) -> str:
    counted = Counter(place for place in places if place).most_common(1)
    if not counted or counted[0][1] * 2 <= times or counted[0][1] < 2:
        return ""
    place, count = counted[0]
    return f"{place} each time" if count == times else f"{place} in {count} of the {times}"
