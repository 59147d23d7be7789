"""The catalogue made ready to match: one table of patterns and one database, kept in a cache."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnosis.engine.anchors import scan_form
from diagnosis.engine.cache import Recipe, digest_of_files, load_or_build
from diagnosis.engine.probes import PROBES, STACK
from diagnosis.engine.scanner import Scanner
from diagnosis.engine.sources import SECTION_PATTERN, Envelopes
from diagnosis.engine.version import VERSION
from encyclopedia import catalogue as catalogue_module
from encyclopedia.catalogue import FAILURES, Catalogue, load

__all__ = ["Compiled", "compile_catalogue", "load_compiled"]

_ENGINE = Path(__file__).parent


@dataclass(frozen=True, repr=False)
class Compiled:
    """A catalogue with everything that matching needs.

    `index` gives the place of each pattern in the scanner; `fingerprint` is the hash of catalogue
    and engine: equal input and fingerprint give equal verdicts.
    """

    catalogue: Catalogue
    index: dict[str, int]
    envelopes: Envelopes
    scanner: Scanner
    fingerprint: str
    version: str

    @functools.cached_property
    def signatures(self) -> int:
        """Count the signatures of the catalogue."""
        return sum(len(failure.signatures) for failure in self.catalogue)


def compile_catalogue(catalogue: Catalogue, fingerprint: str) -> Compiled:
    """Build the table and the database; ValueError names a pattern that does not compile."""
    # YAML is read only when the cache is built, and takes longer to import than a log to diagnose.
    from diagnosis.engine.envelope_files import load_envelopes

    envelopes = load_envelopes()
    index: dict[str, int] = {}
    for pattern in _patterns(catalogue, envelopes):
        index.setdefault(pattern, len(index))
    return Compiled(
        catalogue=catalogue,
        index=index,
        envelopes=envelopes,
        scanner=Scanner([scan_form(pattern).encode() for pattern in index]),
        fingerprint=fingerprint,
        version=VERSION,
    )


def _patterns(catalogue: Catalogue, envelopes: Envelopes) -> Iterator[str]:
    for probe in PROBES:
        yield probe.pattern
    for part in STACK:
        yield part.pattern
    yield SECTION_PATTERN
    for identity in envelopes.identities:
        yield identity.pattern
    for failure in catalogue:
        for signature in failure.signatures:
            yield signature.pattern
            for each in (*signature.requires, *signature.excludes):
                yield each.pattern


def load_compiled(folder: Path = FAILURES, cache: Path | None = None) -> Compiled:
    """Return the failures of `folder`, compiled; from the cache file where it is of this content.

    `cache` is the folder of the cache file (`cache_folder()` if None). Raises CatalogueError for a
    failure file that cannot be read and ValueError for a pattern that does not compile.
    """
    fingerprint = _fingerprint(folder)
    recipe = Recipe(
        "catalogue", lambda: compile_catalogue(load(folder), fingerprint), _stored, _restored
    )
    return load_or_build(recipe, fingerprint, cache)


def _stored(compiled: Compiled) -> tuple[dict[str, Any], bytes]:
    fields = {
        entry.name: getattr(compiled, entry.name)
        for entry in dataclasses.fields(compiled)
        if entry.name != "scanner"
    }
    return fields, compiled.scanner.to_bytes()


def _restored(content: tuple[dict[str, Any], bytes]) -> Compiled:
    fields, database = content
    patterns = [pattern.encode() for pattern in fields["index"]]
    return Compiled(**fields, scanner=Scanner(patterns, database))


def _fingerprint(folder: Path) -> str:
    """Hash the failure files and everything of the engine that has a say in a verdict."""
    engine_files = sorted(
        path for path in _ENGINE.rglob("*") if path.suffix in {".py", ".yaml", ".json"}
    )
    catalogue = Path(catalogue_module.__file__)
    parser = catalogue.with_name("failure_file.py")  # not imported, since YAML would come with it
    return digest_of_files(
        (*engine_files, catalogue, parser, *sorted(folder.glob("*/*.md"))), VERSION
    )
