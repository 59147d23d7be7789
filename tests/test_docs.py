"""What the documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/architecture.md")
FOLDERS = (
    "benchmarks",
    "denpex",
    "diagnosis",
    "docs",
    "encyclopedia",
    "static",
    "templates",
    "tests",
)
MADE_BY_A_RUN = {".denpex"}
# A file or folder of ours between backticks; `<slug>.md`, `rank_*.log` and addresses are none.
NAMED = re.compile(r"`((?:[\w.-]+/)*(?:[\w-]+\.(?:py|yaml|json|md|html)|(?<=/)))`")


def text_of(document: str) -> str:
    return (PROJECT / document).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tree() -> set[str]:
    """Return each path of ours and each of its tails, as a document may shorten it."""
    found = [path for path in PROJECT.iterdir() if path.is_file()]
    found += [path for folder in FOLDERS for path in (PROJECT / folder).rglob("*")]
    paths = [path.relative_to(PROJECT) for path in found]
    return {"/".join(path.parts[start:]) for path in paths for start in range(len(path.parts))}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_a_document_names_exist(document: str, tree: set[str]) -> None:
    named = {name.rstrip("/") for name in NAMED.findall(text_of(document))} - set(FOLDERS)
    assert named
    assert named - tree - MADE_BY_A_RUN == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_of_a_document_lead_somewhere(document: str) -> None:
    folder = (PROJECT / document).parent
    links = re.findall(r"\]\(((?!https?:)[^)#\s]+)\)", text_of(document))
    assert [link for link in links if not (folder / link).exists()] == []


def test_make_targets_that_a_document_names_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    for document in DOCUMENTS:
        named = re.findall(
            r"(?:^ {4}|`)(?:\w+=\S+ )?make ([a-z-]+)", text_of(document), re.MULTILINE
        )
        assert set(named) - targets == set(), document


def test_commands_that_a_document_names_exist() -> None:
    commands = set(re.findall(r"add_parser\(\s*\"(\w+)\"", text_of("denpex/cli.py")))
    for document in DOCUMENTS:
        named = re.findall(r"(?:\.venv/bin/|`)denpex (\w+)", text_of(document))
        assert set(named) - commands == set(), document
