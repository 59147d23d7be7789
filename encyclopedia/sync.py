"""Fills the database of failures from the catalogue: the files are the truth, the rows follow."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone
from django.utils.text import slugify

from diagnosis.engine import anchors, envelope_files
from diagnosis.engine.cache import digest_of_files
from encyclopedia import catalogue as files
from encyclopedia import index
from encyclopedia.codes import compact, key_of
from encyclopedia.headline import page_title
from encyclopedia.models import Alias, Code, Failure, LoadedCatalogue, LookAlike, SectionRow
from encyclopedia.rendering import plain_text, render
from encyclopedia.stacks import with_stacks
from encyclopedia.wordings import stated_by, telling_line, wordings

__all__ = ["LoadReport", "load_failures"]

# Any number that no other lock of this database uses.
_LOAD_LOCK = 7_305_001
# Who turns Markdown into HTML for us.
_RENDERERS = ("markdown", "pymdown-extensions", "pygments", "nh3")


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did, as slugs."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]


@transaction.atomic
def load_failures(catalogue: files.Catalogue) -> LoadReport:
    """Make the rows equal to `catalogue`, all or nothing; a second load does nothing.

    The catalogue must be free of `problems`: its edges are followed without looking.
    """
    _wait_for_other_loads()
    before = dict(Failure.objects.values_list("slug", "content_hash"))
    after = {failure.slug: content_hash(failure) for failure in catalogue}
    fingerprint = _hash([after, _code_hash()])
    if before != after or LoadedCatalogue.current_fingerprint() != fingerprint:
        _save(catalogue, before, after)
        LoadedCatalogue.objects.update_or_create(pk=1, defaults={"fingerprint": fingerprint})
    return _report(before, after)


def content_hash(failure: files.Failure) -> str:
    """Return the hash of everything that a failure file says."""
    return _hash(asdict(failure))


def _wait_for_other_loads() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOAD_LOCK])


def _save(catalogue: files.Catalogue, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    _save_failures(catalogue, before, after)
    _save_edges(catalogue)
    _save_aliases(catalogue)
    _save_codes(catalogue)
    Failure.objects.exclude(slug__in=after).delete()


def _save_failures(
    catalogue: files.Catalogue, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    rows = [_row(failure, after[failure.slug]) for failure in catalogue]
    kept = [row for row in rows if before.get(row.slug) == row.content_hash]
    dates = dict(Failure.objects.values_list("slug", "changed_at"))
    for row in kept:
        row.changed_at = dates[row.slug]
    Failure.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["slug"], update_fields=_UPDATED_FIELDS
    )


def _row(failure: files.Failure, content: str) -> Failure:
    sections = [_section(section) for section in failure.sections]
    words = {section["heading"]: plain_text(section["html"]) for section in sections}
    return Failure(
        slug=failure.slug,
        title=failure.title,
        category=failure.category,
        severity=failure.severity,
        role=failure.role,
        tags=list(failure.tags),
        systems=list(failure.systems),
        message=failure.message or "",
        stated_by=stated_by(failure),
        line=telling_line(failure),
        wordings=list(wordings(failure)),
        page_title=page_title(failure),
        summary=words.get("Quick answer", ""),
        sections=sections,
        facts=asdict(failure.facts),
        fix=asdict(failure.fix),
        references=[asdict(reference) for reference in failure.references],
        reviewed=failure.reviewed,
        content_hash=content,
        changed_at=timezone.now(),
        search=index.vector(failure, [words[name] for name in index.indexed_sections(failure)]),
    )


_UPDATED_FIELDS = [
    field.name
    for field in Failure._meta.concrete_fields  # noqa: SLF001
    if field.name not in {"id", "slug", "kind_of"}
]


def _section(section: files.Section) -> SectionRow:
    return {
        "heading": section.heading,
        "anchor": slugify(section.heading),
        "html": with_stacks(render(section.markdown), section.heading),
        "markdown": section.markdown,
    }


def _save_edges(catalogue: files.Catalogue) -> None:
    rows = {row.slug: row for row in Failure.objects.filter(slug__in=catalogue.failures)}
    for failure in catalogue:
        rows[failure.slug].kind_of = rows[failure.kind_of] if failure.kind_of else None
    Failure.objects.bulk_update(rows.values(), ["kind_of"])

    edge = Failure.follows.through
    edge.objects.all().delete()
    edge.objects.bulk_create(
        edge(from_failure=rows[failure.slug], to_failure=rows[cause])
        for failure in catalogue
        for cause in failure.consequence_of
    )
    LookAlike.objects.all().delete()
    LookAlike.objects.bulk_create(
        LookAlike(failure=rows[failure.slug], other=rows[other.slug], tell_apart=other.tell_apart)
        for failure in catalogue
        for other in failure.looks_like
    )


def _save_aliases(catalogue: files.Catalogue) -> None:
    """Add the aliases of the files; one that was ever known stays while its failure does."""
    rows = {row.slug: row for row in Failure.objects.all()}
    Alias.objects.filter(slug__in=catalogue.failures).delete()
    for failure in catalogue:
        for slug in failure.aliases:
            if slug in rows:
                Alias.objects.filter(failure=rows[slug]).update(failure=rows[failure.slug])
            Alias.objects.update_or_create(slug=slug, defaults={"failure": rows[failure.slug]})


def _save_codes(catalogue: files.Catalogue) -> None:
    rows = {row.slug: row for row in Failure.objects.all()}
    Code.objects.all().delete()
    Code.objects.bulk_create(
        Code(key=key, compact=compact(key), label=label, failure=rows[failure.slug])
        for failure in catalogue
        for label in failure.codes
        if (key := key_of(label))
    )


@functools.cache
def _code_hash() -> str:
    """Hash what makes rows of files, so that a change of the rendering counts as well."""
    modules = (
        *sorted(Path(__file__).parent.rglob("*.py")),
        Path(anchors.__file__),
        *sorted(envelope_files.FOLDER.glob("*.yaml")),
    )
    versions = (f"{name} {importlib.metadata.version(name)}" for name in _RENDERERS)
    return digest_of_files(modules, *versions)


def _report(before: Mapping[str, str], after: Mapping[str, str]) -> LoadReport:
    both = sorted(before.keys() & after.keys())
    return LoadReport(
        added=tuple(sorted(after.keys() - before.keys())),
        changed=tuple(slug for slug in both if before[slug] != after[slug]),
        removed=tuple(sorted(before.keys() - after.keys())),
        unchanged=tuple(slug for slug in both if before[slug] == after[slug]),
    )


def _hash(value: object) -> str:
    text = json.dumps(value, default=str, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
