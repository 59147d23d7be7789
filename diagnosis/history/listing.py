"""A history as a list: its filters, all of which stand in the address, and its pages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Page, Paginator
from django.http import QueryDict

from denpex.accounts.models import User
from diagnosis.history.models import HistoryEntry, HistoryEntryQuerySet
from encyclopedia.categories import CATEGORY_NAMES

__all__ = ["FilterForm", "page_of", "query_of"]

_ON_A_PAGE = 25
_UNKNOWN = "unknown-"
_SUMMARY_CHARACTERS = 80
_Choice = tuple[str, str]


class _DateInput(forms.DateInput):
    input_type = "date"


class FilterForm(forms.Form):
    """Narrows a history by failure, category, project and time. Days are those of UTC."""

    since = forms.DateField(required=False, label="From", widget=_DateInput)
    until = forms.DateField(required=False, label="To", widget=_DateInput)
    field_order = ("failure", "category", "project", "since", "until")

    def __init__(self, asked: QueryDict, entries: HistoryEntryQuerySet) -> None:
        super().__init__(asked, auto_id="filter-%s")
        self._entries = entries
        for name, held in (
            ("failure", _failures(entries)),
            ("category", _categories(entries)),
            ("project", _projects(entries)),
        ):
            self.fields[name] = _choice(held, asked.get(name, ""))
        self.order_fields(self.field_order)

    @property
    def is_used(self) -> bool:
        """Say whether the address asks for less than everything."""
        return any(self.data.get(name) for name in self.fields)

    def found(self) -> HistoryEntryQuerySet:
        """Select what the filters leave. One that cannot be read leaves all, and says so."""
        self.is_valid()
        asked = self.cleaned_data
        found = self._entries
        for name in ("category", "project"):
            if asked.get(name):
                found = found.filter(**{name: asked[name]})
        if asked.get("failure"):
            found = found.filter(**_condition(asked["failure"]))
        if asked.get("since"):
            found = found.filter(created_at__gte=_midnight(asked["since"]))
        if asked.get("until"):
            found = found.filter(created_at__lt=_midnight(asked["until"], days=1))
        return found


def page_of(account: User, asked: QueryDict) -> tuple[FilterForm, Page[HistoryEntry]]:
    """Return the filters and the page of the history that the address asks for."""
    form = FilterForm(asked, HistoryEntry.objects.of(account))
    paginator = Paginator(form.found().listed(), _ON_A_PAGE)
    return form, paginator.get_page(asked.get("page"))


def query_of(entry: HistoryEntry) -> str:
    """Return the query of the address that lists the entries of the same failure."""
    failure = entry.failure or f"{_UNKNOWN}{entry.fingerprint}"
    return urlencode({"failure": failure})


def _choice(held: Iterable[_Choice], asked: str) -> forms.ChoiceField:
    """Offer what the history holds, and what the address asks for though nothing is like it."""
    choices = {"": "Any"} | dict(held)
    if asked.isprintable():
        choices.setdefault(asked, asked)
    return forms.ChoiceField(required=False, choices=list(choices.items()))


def _failures(entries: HistoryEntryQuerySet) -> Sequence[_Choice]:
    known = entries.exclude(failure="").order_by("title").values_list("failure", "title")
    unknown = entries.exclude(fingerprint="").order_by("fingerprint", "-created_at")
    return [
        *dict(known.distinct()).items(),
        *(
            (f"{_UNKNOWN}{fingerprint}", f"Unrecognised: {summary[:_SUMMARY_CHARACTERS]}")
            for fingerprint, summary in unknown.distinct("fingerprint").values_list(
                "fingerprint", "summary"
            )
        ),
    ]


def _categories(entries: HistoryEntryQuerySet) -> Sequence[_Choice]:
    held = set(entries.order_by().values_list("category", flat=True).distinct())
    return [(key, name) for key, name in CATEGORY_NAMES.items() if key in held]


def _projects(entries: HistoryEntryQuerySet) -> Sequence[_Choice]:
    named = entries.exclude(project="").order_by("project").values_list("project", flat=True)
    return [(name, name) for name in named.distinct()]


def _condition(failure: str) -> dict[str, Any]:
    if failure.startswith(_UNKNOWN):
        return {"fingerprint": failure.removeprefix(_UNKNOWN)}
    return {"failure": failure}


def _midnight(day: dt.date, days: int = 0) -> dt.datetime:
    """Return when a day begins, or the day that comes `days` later; the last one there is, ends."""
    try:
        later = day + dt.timedelta(days=days)
    except OverflowError:
        return dt.datetime.max.replace(tzinfo=dt.UTC)
    return dt.datetime.combine(later, dt.time(tzinfo=dt.UTC))
