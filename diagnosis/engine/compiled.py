"""The catalogue made ready to match: one table of patterns, one database, kept in one cache file.

The cache is a convenience: any doubt about it (missing, of another content, another Hyperscan,
another machine, unreadable, not ours) rebuilds it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import platform
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hyperscan

from diagnosis.engine.anchors import scan_form
from diagnosis.engine.identities import load_identity_patterns
from diagnosis.engine.probes import PROBES, STACK
from diagnosis.engine.scanner import Scanner
from diagnosis.engine.sources import SECTION_PATTERN, Envelopes
from diagnosis.engine.version import VERSION
from encyclopedia import catalogue as catalogue_module
from encyclopedia.catalogue import FAILURES, Catalogue, load

__all__ = ["Compiled", "cache_folder", "compile_catalogue", "load_compiled"]

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

    index: dict[str, int] = {}
    for pattern in _patterns(catalogue):
        index.setdefault(pattern, len(index))
    return Compiled(
        catalogue=catalogue,
        index=index,
        envelopes=load_envelopes(),
        scanner=Scanner([scan_form(pattern).encode() for pattern in index]),
        fingerprint=fingerprint,
        version=VERSION,
    )


def _patterns(catalogue: Catalogue) -> Iterator[str]:
    for probe in PROBES:
        yield probe.pattern
    for part in STACK:
        yield part.pattern
    yield SECTION_PATTERN
    for identity in load_identity_patterns():
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
    path = (cache or cache_folder()) / f"{_machine_key(fingerprint)}.bin"
    compiled = _read(path)
    if compiled is None or compiled.fingerprint != fingerprint:
        compiled = compile_catalogue(load(folder), fingerprint)
        _write(path, compiled)
    return compiled


def cache_folder() -> Path:
    """Return the folder of the compiled catalogue: DENPEX_CACHE, or the user's cache folder."""
    chosen = os.environ.get("DENPEX_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "denpex"


def _fingerprint(folder: Path) -> str:
    """Hash the failure files and everything of the engine that has a say in a verdict."""
    digest = hashlib.sha256(VERSION.encode())
    engine_files = sorted(
        path for path in _ENGINE.rglob("*") if path.suffix in {".py", ".yaml", ".json"}
    )
    catalogue = Path(catalogue_module.__file__)
    parser = catalogue.with_name("failure_file.py")  # not imported, since YAML would come with it
    for path in (*engine_files, catalogue, parser, *sorted(folder.glob("*/*.md"))):
        digest.update(f"\0{path.parent.name}/{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _machine_key(fingerprint: str) -> str:
    """Name what a database depends on besides its content: Hyperscan and the processor."""
    digest = hashlib.sha256()
    for part in (
        fingerprint,
        getattr(hyperscan, "__version__", ""),
        platform.machine(),
        platform.python_version(),
        _processor_features(),
    ):
        digest.update(f"{part}\0".encode())
    return digest.hexdigest()[:32]


def _processor_features() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as info:
            for line in info:
                if line.startswith(("flags", "Features")):
                    return line
    except OSError:
        pass
    return ""


def _read(path: Path) -> Compiled | None:
    """Return the cached value, or None where the file is missing, not ours alone, or unreadable."""
    try:
        with path.open("rb") as file:
            if not (_ours_alone(path.parent.stat()) and _ours_alone(os.fstat(file.fileno()))):
                return None
            compiled, database = pickle.load(file)  # noqa: S301, a file of this user alone
            patterns = [pattern.encode() for pattern in compiled["index"]]
            return Compiled(**compiled, scanner=Scanner(patterns, database))
    except Exception:  # noqa: BLE001, whatever is wrong with a cache, rebuilding mends it
        return None


def _ours_alone(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o022


def _write(path: Path, compiled: Compiled) -> None:
    """Write the cache by rename; a folder that cannot be written costs only the next start."""
    content = {
        "catalogue": compiled.catalogue,
        "index": compiled.index,
        "envelopes": compiled.envelopes,
        "fingerprint": compiled.fingerprint,
        "version": compiled.version,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            pickle.dump((content, compiled.scanner.to_bytes()), file, pickle.HIGHEST_PROTOCOL)
        Path(temporary).replace(path)
    except OSError:
        return
    _remove_older(path)


def _remove_older(path: Path) -> None:
    """Keep the two newest caches, so that two versions side by side do not rebuild in turns."""
    caches = sorted(path.parent.glob("*.bin"), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in caches[2:]:
        old.unlink(missing_ok=True)
