import stat
from pathlib import Path
from unittest.mock import Mock

import pytest

from diagnosis.engine import LogFile, cache, compiled, diagnose, load_compiled
from encyclopedia import catalogue
from encyclopedia.catalogue import FAILURES


def cached(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.bin"))


def test_the_second_load_reads_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_compiled(cache=tmp_path)
    monkeypatch.setattr(compiled, "compile_catalogue", lambda *_: pytest.fail("compiled again"))
    second = load_compiled(cache=tmp_path)
    assert second.fingerprint == first.fingerprint
    log = [LogFile("log.txt", b"step 1/10\nKilled process 7 (python) total-vm:1kB, anon-rss:1kB\n")]
    assert diagnose(log, second) == diagnose(log, first)


def test_the_cache_is_for_its_owner_alone(tmp_path: Path) -> None:
    load_compiled(cache=tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    (file,) = cached(tmp_path / "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_damaged_cache_is_built_anew(tmp_path: Path) -> None:
    load_compiled(cache=tmp_path)
    (file,) = cached(tmp_path)
    good = file.read_bytes()
    for damage in (b"", b"junk", good[: len(good) // 2]):
        file.write_bytes(damage)
        assert len(load_compiled(cache=tmp_path).catalogue) > 0


def test_a_cache_that_others_can_write_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_compiled(cache=tmp_path)
    tmp_path.chmod(0o777)
    build = Mock(wraps=compiled.compile_catalogue)
    monkeypatch.setattr(compiled, "compile_catalogue", build)
    load_compiled(cache=tmp_path)
    build.assert_called_once()


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert len(load_compiled(cache=blocked / "below").catalogue) > 0


def test_a_changed_failure_file_changes_the_fingerprint(tmp_path: Path) -> None:
    folder = tmp_path / "failures"
    source = min(FAILURES.glob("*/*.md"))
    copy = folder / source.parent.name / source.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(source.read_bytes())
    before = load_compiled(folder, tmp_path / "cache").fingerprint
    copy.write_bytes(source.read_bytes() + b"\nOne more line.\n")
    assert load_compiled(folder, tmp_path / "cache").fingerprint != before


@pytest.mark.parametrize("module", ["catalogue", "failure_file"])
def test_a_changed_reading_of_the_files_changes_the_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    for name in ("catalogue.py", "failure_file.py"):
        (tmp_path / name).write_bytes(FAILURES.with_name(name).read_bytes())
    monkeypatch.setattr(catalogue, "__file__", str(tmp_path / "catalogue.py"))
    before = compiled._fingerprint(FAILURES)
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write("# another reading\n")
    assert compiled._fingerprint(FAILURES) != before


def test_the_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DENPEX_CACHE", str(tmp_path))
    assert cache.cache_folder() == tmp_path
    monkeypatch.delenv("DENPEX_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "denpex"
