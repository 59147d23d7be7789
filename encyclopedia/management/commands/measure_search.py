"""`manage.py measure_search`: how often search puts the right page first, and how fast it is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml
from django.core.management.base import BaseCommand, CommandParser
from django.test import RequestFactory

from encyclopedia.catalogue import Catalogue, load
from encyclopedia.search import SearchResult, find
from encyclopedia.views import browse

__all__ = [
    "Question",
    "first_slug",
    "questions_in_file",
    "questions_of_cases",
    "questions_of_catalogue",
]


@dataclass(frozen=True, slots=True)
class Question:
    """A text to look for, and the slugs of the pages that are right for it."""

    text: str
    right: frozenset[str]


def questions_of_catalogue(catalogue: Catalogue) -> Iterator[Question]:
    """Ask for each text among `matches`: the page that names it is right."""
    for failure in catalogue:
        for signature in failure.signatures:
            for text in signature.matches:
                yield Question(text, frozenset({failure.slug}))


def questions_of_cases(folder: Path, catalogue: Catalogue) -> Iterator[Question]:
    """Ask for each line of evidence of the cases whose failure has a page."""
    for path in sorted(folder.glob("*/truth.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        right = frozenset({truth["primary"], *truth["accept"]} & catalogue.failures.keys())
        for text in truth["evidence"] if right else ():
            yield Question(text, right)


def questions_in_file(path: Path) -> Iterator[Question]:
    """Ask each query of a YAML file, which names the pages that are right for it."""
    for text, slugs in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        yield Question(str(text), frozenset(slugs))


def first_slug(result: SearchResult) -> str | None:
    """Return the page that a search shows first, or goes to."""
    found = (*((result.exact,) if result.exact else ()), *result.stated, *result.hits)
    return found[0].slug if found else None


class Command(BaseCommand):
    """Measures search on the loaded catalogue; asserts nothing."""

    help = "Ask the search for every text of the catalogue, and print how it did."

    def add_arguments(self, parser: CommandParser) -> None:
        """Accept a folder of cases, whose lines the catalogue's authors did not write."""
        parser.add_argument("--cases", type=Path, help="a folder of cases with truth.json")
        parser.add_argument("--queries", type=Path, help="a YAML file of queries and their pages")
        parser.add_argument("--misses", action="store_true", help="print what went wrong")

    def handle(
        self,
        *_args: Any,
        cases: Path | None,
        queries: Path | None,
        misses: bool,
        **_options: Any,
    ) -> None:
        """Print one line for each group of questions."""
        catalogue = load()
        groups = {"matches of the catalogue": list(questions_of_catalogue(catalogue))}
        if cases:
            groups["evidence lines of the cases"] = list(questions_of_cases(cases, catalogue))
        if queries:
            groups["short queries"] = list(questions_in_file(queries))
        for name, questions in groups.items():
            self._measure(name, questions, show_misses=misses)

    def _measure(self, name: str, questions: Sequence[Question], *, show_misses: bool) -> None:
        times = sorted(_seconds_to_answer(question.text) for question in questions)
        found = [(question, first_slug(find(question.text))) for question in questions]
        right = sum(slug in question.right for question, slug in found)
        self.stdout.write(
            f"{name}: right page first {right}/{len(found)} ({right / len(found):.1%}),"
            f" whole answer p50 {_share(times, 0.5):.1f} ms, p95 {_share(times, 0.95):.1f} ms,"
            f" slowest {times[-1] * 1e3:.1f} ms"
        )
        for question, slug in found if show_misses else ():
            if slug not in question.right:
                self.stdout.write(f"  {sorted(question.right)} not {slug}: {question.text[:160]!r}")


def _seconds_to_answer(text: str) -> float:
    request = RequestFactory().get("/failures/", {"q": text})
    start = perf_counter()
    browse(request)
    return perf_counter() - start


def _share(times: Sequence[float], share: float) -> float:
    """Return the time, in milliseconds, within which this share of the answers came."""
    return times[math.ceil(len(times) * share) - 1] * 1e3
