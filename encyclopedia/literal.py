"""What the pages say letter by letter, for texts that full text search takes apart otherwise.

It has the last word on whether any page speaks of something. Each process reads the pages once for
each state of the catalogue.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from encyclopedia.gate import readable_sections
from encyclopedia.models import Failure, LoadedCatalogue
from encyclopedia.rendering import plain_text

__all__ = ["holding"]


def holding(parts: Iterable[str]) -> list[str]:
    """Return the slugs of the pages that hold each of `parts`, in whatever case."""
    wanted = [part.casefold() for part in parts]
    texts = _texts(LoadedCatalogue.current_fingerprint())
    return [slug for slug, text in texts.items() if all(part in text for part in wanted)]


@functools.lru_cache(maxsize=1)
def _texts(_fingerprint: str) -> Mapping[str, str]:
    """Return by its slug what each page says to everyone, on one line."""
    failures = Failure.objects.defer("search").prefetch_related("codes", "look_alikes")
    return {each.slug: " ".join(" ".join(_said(each)).split()).casefold() for each in failures}


def _said(failure: Failure) -> Iterator[str]:
    yield from (failure.title, failure.slug, failure.message, failure.line, *failure.wordings)
    yield from (failure.category_name, *failure.tags, *failure.systems)
    yield from (code.label for code in failure.codes.all())
    yield from (plain_text(each["html"]) for each in readable_sections(failure, whole=False))
    facts = dict(failure.facts)
    monitors = facts.pop("monitor", None) or {}
    yield from _without_code_marks((*facts.values(), *monitors.values(), *failure.fix.values()))
    yield from _without_code_marks([each.tell_apart for each in failure.look_alikes.all()])
    yield from (reference["title"] for reference in failure.references)


def _without_code_marks(lines: Sequence[str | None]) -> Iterator[str]:
    return (line.replace("`", "") for line in lines if line)
