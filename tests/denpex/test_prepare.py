"""What a start brings up to date, and what it leaves alone because nothing has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytest_django import Settings

from denpex.prepare import collect_static_files

MANIFEST = "staticfiles.json"


@pytest.fixture
def source(settings: Settings, tmp_path: Path) -> Path:
    """Let one stylesheet be all static files of the site; returns it."""
    style = tmp_path / "source" / "style.css"
    style.parent.mkdir()
    style.write_text("body { color: black }\n" * 50)
    settings.STATICFILES_DIRS = [style.parent]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "collected"
    return style


def collected(settings: Settings) -> str:
    return (Path(settings.STATIC_ROOT) / "style.css").read_text()


def test_first_start_collects_and_compresses(source: Path, settings: Settings) -> None:
    collect_static_files()
    assert collected(settings) == source.read_text()
    assert list(Path(settings.STATIC_ROOT).glob("style.*.css.br"))


def test_second_start_leaves_the_same_files_alone(source: Path, settings: Settings) -> None:
    collect_static_files()
    manifest = Path(settings.STATIC_ROOT) / MANIFEST
    os.utime(manifest, ns=(0, 0))
    collect_static_files()
    assert manifest.stat().st_mtime_ns == 0


def test_changed_file_is_collected_again(source: Path, settings: Settings) -> None:
    collect_static_files()
    source.write_text("body { color: white }")
    os.utime(source, ns=(0, source.stat().st_mtime_ns + 1_000_000_000))
    collect_static_files()
    assert collected(settings) == "body { color: white }"


def test_new_file_is_collected(source: Path, settings: Settings) -> None:
    collect_static_files()
    source.with_name("other.css").write_text("")
    collect_static_files()
    assert (Path(settings.STATIC_ROOT) / "other.css").exists()


def test_collecting_that_was_cut_short_is_done_again(source: Path, settings: Settings) -> None:
    collect_static_files()
    (Path(settings.STATIC_ROOT) / MANIFEST).unlink()
    (Path(settings.STATIC_ROOT) / "style.css").unlink()
    (Path(settings.STATIC_ROOT) / "collected-from").unlink()
    collect_static_files()
    assert collected(settings) == source.read_text()
