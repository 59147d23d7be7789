"""The rows follow the files."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from encyclopedia import sync
from encyclopedia.catalogue import Catalogue
from encyclopedia.models import Alias, Failure, LoadedCatalogue, LookAlike

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).parent / "failures"


def everything() -> dict[str, list[Any]]:
    """Return all rows that a load writes, without the keys that a database chooses."""
    return {
        "failures": [
            {key: value for key, value in row.items() if key not in {"id", "kind_of_id"}}
            for row in Failure.objects.order_by("slug").values()
        ],
        "edges": list(Failure.objects.order_by("slug").values_list("slug", "follows__slug")),
        "look-alikes": list(LookAlike.objects.values_list("failure__slug", "other__slug")),
        "aliases": list(Alias.objects.order_by("slug").values_list("slug", "failure__slug")),
        "catalogue": list(LoadedCatalogue.objects.values_list("fingerprint")),
    }


def with_failure(catalogue: Catalogue, slug: str, **changes: Any) -> Catalogue:
    changed = replace(catalogue.failures[slug], **changes)
    return Catalogue({**catalogue.failures, slug: changed})


def without(catalogue: Catalogue, slug: str) -> Catalogue:
    """Return the catalogue with `slug` and every edge to it gone."""
    return Catalogue(
        {
            each.slug: replace(
                each,
                consequence_of=tuple(cause for cause in each.consequence_of if cause != slug),
                looks_like=tuple(other for other in each.looks_like if other.slug != slug),
            )
            for each in catalogue
            if each.slug != slug
        }
    )


def test_it_works(small_catalogue: Catalogue) -> None:
    report = sync.load_failures(small_catalogue)
    assert report.added == ("peer-closed", "scratch-disk-full", "scratch-quota-exceeded")
    failure = Failure.objects.get(slug="scratch-disk-full")
    assert failure.title == "Scratch Disk Full During a Save"
    assert [each.slug for each in failure.leads_to.all()] == ["peer-closed"]
    assert [each.other.slug for each in failure.look_alikes.all()] == ["scratch-quota-exceeded"]
    assert [each.slug for each in failure.aliases.all()] == ["disk-full"]


def test_a_second_load_changes_nothing(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    before = everything()
    report = sync.load_failures(small_catalogue)
    assert everything() == before
    assert len(report.unchanged) == 3
    assert report.added == report.changed == report.removed == ()


def test_a_second_load_asks_what_is_there_and_no_more(
    small_catalogue: Catalogue, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    sync.load_failures(small_catalogue)
    # A savepoint and its release, the lock, the rows, the fingerprint.
    with django_assert_max_num_queries(5):
        sync.load_failures(small_catalogue)


def test_other_code_makes_the_rows_anew(
    small_catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync.load_failures(small_catalogue)
    before = everything()
    Failure.objects.update(sections=[], page_title="By older code")
    monkeypatch.setattr(sync, "_code_hash", lambda: "newer code")
    sync.load_failures(small_catalogue)
    assert everything()["failures"] == before["failures"]
    assert everything()["catalogue"] != before["catalogue"]


def test_a_row_that_was_lost_comes_back(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    before = everything()
    Failure.objects.get(slug="peer-closed").delete()
    assert sync.load_failures(small_catalogue).added == ("peer-closed",)
    assert everything()["edges"] == before["edges"]


def test_what_changed_is_updated_and_the_rest_keeps_its_date(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    dates = dict(Failure.objects.values_list("slug", "changed_at"))
    fingerprint = LoadedCatalogue.current_fingerprint()
    report = sync.load_failures(with_failure(small_catalogue, "peer-closed", title="Peer Gone"))
    assert report.changed == ("peer-closed",)
    assert Failure.objects.get(slug="peer-closed").title == "Peer Gone"
    after = dict(Failure.objects.values_list("slug", "changed_at"))
    assert [slug for slug in dates if after[slug] != dates[slug]] == ["peer-closed"]
    assert LoadedCatalogue.current_fingerprint() != fingerprint


def test_a_failure_whose_file_is_gone_vanishes(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    report = sync.load_failures(without(small_catalogue, "scratch-quota-exceeded"))
    assert report.removed == ("scratch-quota-exceeded",)
    assert not Failure.objects.filter(slug="scratch-quota-exceeded").exists()
    assert not LookAlike.objects.exists()


def test_an_edge_that_is_gone_vanishes(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    sync.load_failures(with_failure(small_catalogue, "peer-closed", consequence_of=()))
    assert not Failure.objects.get(slug="scratch-disk-full").leads_to.exists()


def test_an_alias_stays_when_the_file_no_longer_names_it(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    sync.load_failures(with_failure(small_catalogue, "scratch-disk-full", aliases=()))
    assert Failure.objects.named("disk-full") == Failure.objects.get(slug="scratch-disk-full")


def test_the_slug_of_a_failure_that_became_an_alias_redirects(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    merged = with_failure(
        without(small_catalogue, "scratch-disk-full"),
        "scratch-quota-exceeded",
        aliases=("scratch-disk-full",),
    )
    sync.load_failures(merged)
    heir = Failure.objects.get(slug="scratch-quota-exceeded")
    assert Failure.objects.named("scratch-disk-full") == heir
    assert Failure.objects.named("disk-full") == heir, "what redirected to it follows"


def test_an_alias_that_becomes_a_failure_is_none_any_more(small_catalogue: Catalogue) -> None:
    sync.load_failures(small_catalogue)
    revived = replace(small_catalogue.failures["peer-closed"], slug="disk-full")
    renamed = with_failure(small_catalogue, "scratch-disk-full", aliases=())
    sync.load_failures(Catalogue({**renamed.failures, "disk-full": revived}))
    assert Failure.objects.named("disk-full") == Failure.objects.get(slug="disk-full")
    assert not Alias.objects.filter(slug="disk-full").exists()


def test_a_kind_points_to_its_general_failure(small_catalogue: Catalogue) -> None:
    catalogue = with_failure(small_catalogue, "scratch-quota-exceeded", kind_of="scratch-disk-full")
    sync.load_failures(catalogue)
    general = Failure.objects.get(slug="scratch-disk-full")
    assert [each.slug for each in general.kinds.all()] == ["scratch-quota-exceeded"]


def test_a_load_that_fails_changes_nothing(
    small_catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync.load_failures(small_catalogue)
    before = everything()

    def fail(_catalogue: Catalogue) -> None:
        raise RuntimeError("half way")

    monkeypatch.setattr(sync, "_save_aliases", fail)
    with pytest.raises(RuntimeError):
        sync.load_failures(without(small_catalogue, "scratch-quota-exceeded"))
    assert everything() == before


@pytest.mark.django_db(transaction=True)
def test_two_loads_at_once_do_not_disturb_each_other(small_catalogue: Catalogue) -> None:
    def load(_number: int) -> None:
        try:
            sync.load_failures(small_catalogue)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, range(8)))
    assert Failure.objects.count() == 3
    assert LookAlike.objects.count() == 1


# The command


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(folder: Path) -> str:
        call_command("load_failures", str(folder))
        return capsys.readouterr().out

    return run


def test_the_command_says_what_it_did(said: Callable[..., str]) -> None:
    assert said(FOLDER) == "3 failures: 3 added, 0 changed, 0 removed, 0 unchanged\n"
    assert said(FOLDER) == "3 failures: 0 added, 0 changed, 0 removed, 3 unchanged\n"


def test_the_command_loads_nothing_where_a_file_is_wrong(
    said: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "storage").mkdir()
    text = (FOLDER / "storage" / "scratch-disk-full.md").read_text()
    (tmp_path / "storage" / "scratch-disk-full.md").write_text(text)
    with pytest.raises(CommandError, match="there is no failure scratch-quota-exceeded"):
        said(tmp_path)
    assert not Failure.objects.exists()


def test_the_command_says_which_file_cannot_be_read(
    said: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage" / "broken.md").write_text("nothing")
    with pytest.raises(CommandError, match=r"storage/broken\.md:1: "):
        said(tmp_path)


def test_a_load_that_would_empty_the_encyclopedia_is_refused(
    said: Callable[..., str], small_catalogue: Catalogue, tmp_path: Path
) -> None:
    sync.load_failures(small_catalogue)
    with pytest.raises(CommandError, match="there is no failure file below"):
        said(tmp_path)
    assert Failure.objects.count() == 3
