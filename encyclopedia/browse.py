"""Browsing: the failures by category, severity, system and tag, with counts, in a chosen order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.text import slugify

from encyclopedia.catalogue import SEVERITIES
from encyclopedia.categories import CATEGORY_NAMES
from encyclopedia.models import Failure
from encyclopedia.system_names import ONE_NAME

__all__ = ["PARAMETERS", "Filter", "Group", "Listing", "Option", "Unknown", "listing"]

# What a value is called, by its name in the address.
_Labels = Mapping[str, str]
# The filters of an address: facet and value.
_Chosen = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Facet:
    """One way to tell failures apart.

    `known` are the values of a closed list, in its order; others are sorted by their label.
    `least` is the fewest failures, of all, for which a value is listed.
    """

    key: str
    name: str
    labels_of: Callable[[Failure], _Labels]
    known: _Labels = field(default_factory=dict)
    least: int = 1


_FACETS: Sequence[_Facet] = (
    _Facet(
        "category",
        "Category",
        lambda failure: {failure.category: failure.category_name},
        known=CATEGORY_NAMES,
    ),
    _Facet(
        "severity",
        "Severity",
        lambda failure: {failure.severity: failure.severity.capitalize()},
        known={severity: severity.capitalize() for severity in SEVERITIES},
    ),
    _Facet("system", "System", lambda failure: _by_slug(failure.systems), least=2),
    _Facet("tag", "Tag", lambda failure: _by_slug(failure.tags), least=2),
)
_ORDER = "sort"
# What each order is called, and what it sorts by; the first is that of an address without one.
_ORDERS: Mapping[str, tuple[str, Callable[[Failure], Any]]] = {
    "category": ("By category", lambda _failure: 0),
    "severity": ("Gravest first", lambda failure: SEVERITIES.index(failure.severity)),
    "reviewed": ("Newest first", lambda failure: -failure.reviewed.toordinal()),
    "title": ("A to Z", lambda failure: failure.title.lower()),
}
# Addresses with another name of a system go on leading to its list.
_OTHER_NAMES: _Labels = {slugify(other): slugify(name) for other, name in ONE_NAME.items()}
_FIRST_ORDER = next(iter(_ORDERS))
# As many are shown where no failure is all that was asked for.
_MOST_NEAREST = 6
PARAMETERS = (*(facet.key for facet in _FACETS), _ORDER)


@dataclass(frozen=True, slots=True)
class Option:
    """A link that narrows the list, widens it again, or orders it."""

    label: str
    address: str
    chosen: bool
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """The values of one facet that the list can be narrowed to; the first option is all of them."""

    key: str
    name: str
    options: tuple[Option, ...]

    @property
    def chosen(self) -> Option | None:
        """The value that the list is narrowed to; None where it is not."""
        return next((option for option in self.options[1:] if option.chosen), None)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that an address asks for and that there is none of: what it would be, and what."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Group:
    """Failures under one heading; a list that is not by category is one group without a name."""

    key: str
    name: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What the browse page shows.

    `labels` are those of the chosen filters. A listing that is not `canonical` is one of countless
    combinations, which search engines need not know. `unknown` was asked for and left out. Where
    nothing is shown, `wider` leads to what is without one of the filters, and `nearest` lacks the
    fewest of them.
    """

    labels: _Labels
    groups: tuple[Group, ...]
    shown: int
    total: int
    filters: tuple[Filter, ...]
    orders: tuple[Option, ...]
    address: str
    canonical: bool
    unknown: tuple[Unknown, ...]
    wider: tuple[Option, ...] = ()
    nearest: tuple[Failure, ...] = ()


def listing(parameters: Mapping[str, str]) -> Listing:
    """Return the list that `parameters` ask for, as far as their values are known."""
    failures = list(Failure.objects.gravest_first())
    labels = {facet.key: _labels(facet, failures) for facet in _FACETS}
    asked = {facet.key: parameters[facet.key] for facet in _FACETS if parameters.get(facet.key)}
    if asked.get("system") in _OTHER_NAMES:
        asked["system"] = _OTHER_NAMES[asked["system"]]
    chosen = {key: value for key, value in asked.items() if value in labels[key]}
    asked_order = parameters.get(_ORDER) or _FIRST_ORDER
    order = asked_order if asked_order in _ORDERS else _FIRST_ORDER
    shown = [failure for failure in failures if _fits(failure, chosen)]
    return Listing(
        labels={key: labels[key][value] for key, value in chosen.items()},
        groups=tuple(_groups(shown, order)),
        shown=len(shown),
        total=len(failures),
        filters=tuple(
            _filter(facet, failures, labels[facet.key], chosen, order) for facet in _FACETS
        ),
        orders=tuple(
            Option(name, _address(chosen, key), chosen=key == order)
            for key, (name, _sort_key) in _ORDERS.items()
        ),
        address=_address(chosen, _FIRST_ORDER),
        canonical=order == _FIRST_ORDER and len(chosen) <= 1,
        unknown=tuple(_unknown(asked, chosen, asked_order)),
        wider=() if shown else tuple(_wider(failures, labels, chosen, order)),
        nearest=() if shown else _nearest(failures, chosen),
    )


def _by_slug(labels: Iterable[str]) -> _Labels:
    return {slugify(label): label for label in labels}


def _labels(facet: _Facet, failures: Iterable[Failure]) -> _Labels:
    found: dict[str, str] = {}
    for failure in failures:
        found.update(facet.labels_of(failure))
    return facet.known or dict(sorted(found.items(), key=lambda item: item[1].lower()))


def _unknown(asked: _Chosen, chosen: _Chosen, order: str) -> Iterator[Unknown]:
    for facet in _FACETS:
        if facet.key in asked and facet.key not in chosen:
            yield Unknown(facet.name.lower(), asked[facet.key])
    if order not in _ORDERS:
        yield Unknown("order", order)


def _wider(
    failures: Iterable[Failure], labels: Mapping[str, _Labels], chosen: _Chosen, order: str
) -> Iterator[Option]:
    """Yield the lists that have any failure, each without one of the filters."""
    for key in chosen:
        rest = {other: value for other, value in chosen.items() if other != key}
        count = sum(_fits(failure, rest) for failure in failures)
        if rest and count:
            label = ", ".join(labels[other][value] for other, value in rest.items())
            yield Option(label, _address(rest, order), chosen=False, count=count)


def _nearest(failures: Sequence[Failure], chosen: _Chosen) -> tuple[Failure, ...]:
    """Return the failures that lack the fewest of the chosen values, the category last."""

    def lacking(failure: Failure) -> tuple[int, list[bool]]:
        lacks = [not _fits(failure, {key: value}) for key, value in chosen.items()]
        return sum(lacks), lacks

    return tuple(sorted(failures, key=lacking)[:_MOST_NEAREST])


def _fits(failure: Failure, chosen: _Chosen, *, but: str = "") -> bool:
    """Say whether the failure has each value that is chosen, `but` that of one facet."""
    return all(
        chosen[facet.key] in facet.labels_of(failure)
        for facet in _FACETS
        if facet.key in chosen and facet.key != but
    )


def _filter(
    facet: _Facet, failures: Iterable[Failure], labels: _Labels, chosen: _Chosen, order: str
) -> Filter:
    """Return the options of a facet: how many failures each would show beside the other filters."""
    fitting = [failure for failure in failures if _fits(failure, chosen, but=facet.key)]
    counts = _counts(facet, fitting)
    of_all = _counts(facet, failures)
    now = chosen.get(facet.key)
    rest = {key: value for key, value in chosen.items() if key != facet.key}
    all_of_them = Option("All", _address(rest, order), chosen=now is None, count=len(fitting))
    values = (
        Option(
            label,
            _address({**rest, facet.key: value}, order),
            chosen=value == now,
            count=counts[value],
        )
        for value, label in labels.items()
        if (counts[value] and of_all[value] >= facet.least) or value == now
    )
    return Filter(facet.key, facet.name, (all_of_them, *values))


def _counts(facet: _Facet, failures: Iterable[Failure]) -> Counter[str]:
    return Counter(value for failure in failures for value in facet.labels_of(failure))


def _address(chosen: _Chosen, order: str) -> str:
    """Return the address of a list; filters stand in one order, so that each list has one."""
    query = [(facet.key, chosen[facet.key]) for facet in _FACETS if facet.key in chosen]
    if order != _FIRST_ORDER:
        query.append((_ORDER, order))
    return reverse("failures") + (f"?{urlencode(query)}" if query else "")


def _groups(failures: Sequence[Failure], order: str) -> Iterator[Group]:
    if order != _FIRST_ORDER:
        _name, sort_key = _ORDERS[order]
        ordered = tuple(sorted(failures, key=sort_key))
        if ordered:
            yield Group("all", "", ordered)
        return
    for key, name in CATEGORY_NAMES.items():
        group = tuple(failure for failure in failures if failure.category == key)
        if group:
            yield Group(key, name, group)
