"""One file for each thing that is dear to build: read if it is ours and up to date, else built.

A cache is a convenience: any doubt about it (missing, damaged, of another content, another
Hyperscan, another processor, writable by others) builds anew.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import stat
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import hyperscan

__all__ = ["Recipe", "cache_folder", "digest_of_files", "load_or_build"]

_T = TypeVar("_T")
# Two of a kind are kept, so that two versions side by side do not build in turns.
_KEPT = 2


@dataclass(frozen=True, slots=True)
class Recipe(Generic[_T]):
    """How to build a value, to turn it into something that pickles, and to turn that back."""

    name: str
    build: Callable[[], _T]
    store: Callable[[_T], Any]
    restore: Callable[[Any], _T]


def load_or_build(recipe: Recipe[_T], fingerprint: str, folder: Path | None = None) -> _T:
    """Return what the cache holds for this content and machine, or build and keep it.

    `folder` is that of the cache (`cache_folder()` if None). Raises what the building raises.
    """
    path = (folder or cache_folder()) / f"{recipe.name}-{_machine_key(fingerprint)}.bin"
    try:
        return recipe.restore(_read(path))
    except Exception:  # noqa: BLE001 - whatever is wrong with a cache, building mends it
        value = recipe.build()
        _write(path, recipe.store(value))
        return value


def cache_folder() -> Path:
    """Return the folder of the caches: DENPEX_CACHE, or `denpex` in the user's cache folder."""
    chosen = os.environ.get("DENPEX_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "denpex"


def digest_of_files(paths: Iterable[Path], *parts: str) -> str:
    """Return a hash of names and contents of files, and of further parts, in their order."""
    digest = hashlib.sha256("\0".join(parts).encode())
    for path in paths:
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


def _read(path: Path) -> Any:
    """Return the content of a cache file; PermissionError where it is not this user's alone."""
    with path.open("rb") as file:
        if not (_ours_alone(path.parent.stat()) and _ours_alone(os.fstat(file.fileno()))):
            raise PermissionError(path)
        return pickle.load(file)  # noqa: S301 - a file of this user alone


def _ours_alone(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o022


def _write(path: Path, content: Any) -> None:
    """Write by rename; a folder that cannot be written costs only the next start."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            pickle.dump(content, file, pickle.HIGHEST_PROTOCOL)
        Path(temporary).replace(path)
        _remove_older(path)
    except OSError:
        return


def _remove_older(path: Path) -> None:
    kind = path.name.rpartition("-")[0]
    caches = sorted(path.parent.glob(f"{kind}-*.bin"), key=lambda each: each.stat().st_mtime)
    for old in caches[:-_KEPT]:
        old.unlink(missing_ok=True)
