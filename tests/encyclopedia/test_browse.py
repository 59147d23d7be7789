"""Lists of failures by facet, with counts, in the order that was asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from encyclopedia import sync
from encyclopedia.browse import Filter, Listing, Option, listing
from encyclopedia.catalogue import Catalogue

pytestmark = pytest.mark.usefixtures("failures")


def slugs(found: Listing) -> list[str]:
    return [failure.slug for group in found.groups for failure in group.failures]


def facet(found: Listing, key: str) -> Filter:
    return next(each for each in found.filters if each.key == key)


def counts(found: Listing, key: str) -> dict[str, int | None]:
    return {option.label: option.count for option in facet(found, key).options}


def option(found: Listing, key: str, label: str) -> Option:
    return next(each for each in facet(found, key).options if each.label == label)


def test_it_works() -> None:
    found = listing({})
    assert [(group.name, len(group.failures)) for group in found.groups] == [
        ("Communication", 1),
        ("Storage", 2),
    ]
    assert found.shown == found.total == 3
    assert found.canonical
    assert found.address == "/failures/"


def test_each_facet_narrows_the_list() -> None:
    assert slugs(listing({"category": "communication"})) == ["peer-closed"]
    assert slugs(listing({"severity": "high"})) == ["scratch-disk-full"]
    assert slugs(listing({"system": "pytorch"})) == ["scratch-disk-full"]
    assert slugs(listing({"tag": "network"})) == ["peer-closed"]


def test_filters_hold_together() -> None:
    assert slugs(listing({"category": "storage", "severity": "low"})) == []


def test_a_count_is_that_of_the_list_behind_it() -> None:
    found = listing({"severity": "high"})
    for each in found.filters:
        for choice in each.options:
            query = dict(
                pair.split("=") for pair in choice.address.partition("?")[2].split("&") if pair
            )
            assert listing(query).shown == choice.count


def test_a_value_of_few_failures_is_found_by_search_and_not_listed() -> None:
    assert counts(listing({}), "category") == {"All": 3, "Communication": 1, "Storage": 2}
    assert counts(listing({}), "tag") == {"All": 3, "Disk": 2}


def test_what_is_chosen_is_always_listed() -> None:
    assert option(listing({"tag": "network"}), "tag", "Network").chosen
    assert option(listing({"category": "serving"}), "category", "Serving").count == 0


def test_a_link_keeps_the_other_filters_and_the_order() -> None:
    found = listing({"category": "storage", "sort": "title"})
    assert option(found, "severity", "High").address == (
        "/failures/?category=storage&severity=high&sort=title"
    )
    assert option(found, "category", "All").address == "/failures/?sort=title"


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("severity", ["scratch-disk-full", "scratch-quota-exceeded", "peer-closed"]),
        ("reviewed", ["peer-closed", "scratch-quota-exceeded", "scratch-disk-full"]),
        ("title", ["peer-closed", "scratch-disk-full", "scratch-quota-exceeded"]),
    ],
)
def test_failures_stand_in_the_order_asked_for(
    order: str, expected: list[str], small_catalogue: Catalogue
) -> None:
    found = listing({"sort": order})
    assert slugs(found) == expected
    assert [each.chosen for each in found.orders].index(True) > 0
    assert not found.canonical


@pytest.mark.parametrize("parameters", [{"sort": "luck"}, {"system": "abacus"}, {"tag": "'"}])
def test_what_there_is_none_of_is_left_out_and_named(parameters: dict[str, str]) -> None:
    found = listing(parameters | {"category": "storage"})
    assert [each.value for each in found.unknown] == list(parameters.values())
    assert found.labels == {"category": "Storage"}
    assert not listing({"category": "storage"}).unknown


def test_an_address_with_another_name_of_a_system_leads_to_its_list(
    small_catalogue: Catalogue,
) -> None:
    failure = small_catalogue.failures["peer-closed"]
    changed = replace(failure, systems=("Text Generation Inference",))
    sync.load_failures(Catalogue({**small_catalogue.failures, "peer-closed": changed}))

    found = listing({"system": "tgi"})

    assert slugs(found) == ["peer-closed"]
    assert found.address == "/failures/?system=text-generation-inference"


def test_one_name_in_two_spellings_is_one_filter(small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["peer-closed"]
    changed = replace(failure, systems=("LINUX",))
    sync.load_failures(Catalogue({**small_catalogue.failures, "peer-closed": changed}))
    assert listing({"system": "linux"}).shown == 3


# Nothing to list


def test_where_no_failure_fits_the_nearest_are_those_that_lack_least() -> None:
    found = listing({"category": "communication", "severity": "high", "tag": "network"})
    assert slugs(found) == []
    assert found.nearest[0].slug == "peer-closed"
    assert len(found.nearest) == 3


def test_of_those_that_lack_as_much_the_nearest_are_of_the_category() -> None:
    """`peer-closed` is the less grave of the two."""
    found = listing({"category": "communication", "severity": "high"})
    assert [each.slug for each in found.nearest[:2]] == ["peer-closed", "scratch-disk-full"]


def test_where_no_failure_fits_each_wider_list_is_offered_with_its_count() -> None:
    found = listing({"category": "communication", "severity": "high", "sort": "title"})
    assert [(each.label, each.count) for each in found.wider] == [("High", 1), ("Communication", 1)]
    for each in found.wider:
        query = dict(pair.split("=") for pair in each.address.partition("?")[2].split("&"))
        assert query["sort"] == "title"
        assert len(slugs(listing(query))) == each.count


def test_a_list_that_shows_any_offers_nothing_besides() -> None:
    found = listing({"category": "storage"})
    assert not found.wider
    assert not found.nearest
