"""The catalogue: one failure, one Markdown file with YAML front matter.

`load` reads the folder of failure files into plain frozen dataclasses; `problems` says what is
wrong with them. Nothing here imports Django, so the command line reads the very same files as the
site; nor YAML, which takes longer to import than a log to diagnose, before a file is really read.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from encyclopedia.categories import CATEGORY_NAMES

__all__ = [
    "CATEGORIES",
    "FAILURES",
    "FAILURE_ROLES",
    "GATED_SECTIONS",
    "PLACEHOLDER",
    "ROLES",
    "SECTIONS",
    "SEVERITIES",
    "SHORT_PAGE",
    "TOLD_BY",
    "WITHIN",
    "Catalogue",
    "CatalogueError",
    "Facts",
    "Failure",
    "Fix",
    "LookAlike",
    "Monitor",
    "Problem",
    "Reference",
    "Requirement",
    "Section",
    "Signature",
    "load",
    "parse",
    "problems",
]

FAILURES = Path(__file__).parent / "failures"

CATEGORIES = tuple(CATEGORY_NAMES)
SEVERITIES = ("critical", "high", "medium", "low")
# Strongest first: a signature may stand at its failure's role or further right, never further left.
ROLES = ("cause", "symptom", "consequence", "summary", "advice")
FAILURE_ROLES = ROLES[:4]
TOLD_BY = ("text", "comparison")
WITHIN = ("event", "source", "log")

# What stands in a fix for a value that only a log tells.
PLACEHOLDER = re.compile(r"<([a-z][a-z0-9_]*)>")

# Heading → must every page have it. The order here is the order on the page.
SECTIONS: Mapping[str, bool] = {
    "Quick answer": True,
    "What you saw": True,
    "Is it this?": True,
    "Why it happens": True,
    "Fix": True,
    "Symptoms": True,
    "Prevent": True,
    "Code": False,
    "On call": True,
    "Engineer": False,
    "Executive": False,
    "Questions": False,
}

# The full remediation: the site shows it to people with an account, the command line to all.
GATED_SECTIONS = frozenset({"Fix", "Prevent", "Code"})

# A page with exactly these is whole as far as it goes, and says that it is short.
SHORT_PAGE = ("Quick answer", "What you saw")


class CatalogueError(ValueError):
    """A failure file that cannot be read at all; the message names file and reason."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A second pattern that must (`requires`) or must not (`excludes`) be found.

    `within` is where it is looked for: the same event, the same source, or the whole log.
    """

    pattern: str
    within: str = "event"


@dataclass(frozen=True, slots=True)
class Signature:
    """A pattern over log text; a hit is an observation with a role, never a verdict by itself."""

    id: str
    pattern: str
    role: str
    requires: tuple[Requirement, ...] = ()
    excludes: tuple[Requirement, ...] = ()
    captures: str | None = None
    matches: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LookAlike:
    """A neighbouring failure and the one fact that tells it apart."""

    slug: str
    tell_apart: str


@dataclass(frozen=True, slots=True)
class Monitor:
    """What to watch for: a grep, a LogQL query, a PromQL expression; None where none is true."""

    grep: str | None = None
    logql: str | None = None
    promql: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Answers to the standing questions, true of this failure alone."""

    layer: str | None = None
    affects: str | None = None
    time_to_fix: str | None = None
    cheapest_check: str | None = None
    recurs: str | None = None
    monitor: Monitor = field(default_factory=Monitor)


@dataclass(frozen=True, slots=True)
class Fix:
    """The fix in one sentence, a command for it, one that proves it, and the platform's part.

    `told` is what a log's own values add to the summary, `<name>` for what a signature captures;
    `expect` is what `verify` shows once the fix holds.
    """

    summary: str
    told: str | None = None
    command: str | None = None
    verify: str | None = None
    expect: str | None = None
    infra: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A source: what it is called and where it stands."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Section:
    """One `##` section of the page: its heading and its Markdown."""

    heading: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Failure:
    """One mechanism by which a run dies or goes wrong: one file, one page."""

    slug: str
    category: str
    title: str
    severity: str
    role: str
    told_by: str
    kind_of: str | None
    tags: tuple[str, ...]
    systems: tuple[str, ...]
    signatures: tuple[Signature, ...]
    consequence_of: tuple[str, ...]
    looks_like: tuple[LookAlike, ...]
    facts: Facts
    fix: Fix
    aliases: tuple[str, ...]
    references: tuple[Reference, ...]
    reviewed: dt.date
    sections: tuple[Section, ...]
    message: str | None = None  # the fixed part of what it prints, … where a run has its own value
    codes: tuple[str, ...] = ()  # Xid 79, exit 137, SIGBUS: each is a short address of the page

    def section(self, heading: str) -> str | None:
        """Return the Markdown under `heading`, or None where the page has no such section."""
        return next((part.markdown for part in self.sections if part.heading == heading), None)

    @property
    def is_short(self) -> bool:
        """Say whether the page holds no more than the answer and the messages, for now."""
        return tuple(part.heading for part in self.sections) == SHORT_PAGE


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All failures by slug, in the order of their slugs."""

    failures: Mapping[str, Failure]

    def __iter__(self) -> Iterator[Failure]:
        return iter(self.failures.values())

    def __len__(self) -> int:
        return len(self.failures)

    def general_failures(self, slug: str) -> tuple[str, ...]:
        """Return the failures of which `slug` is a kind, nearest first, without `slug` itself."""
        chain: list[str] = []
        parent = self.failures[slug].kind_of
        while parent is not None and parent in self.failures and parent not in chain:
            chain.append(parent)
            parent = self.failures[parent].kind_of
        return tuple(chain)

    def explains(self, cause: str, effect: str) -> bool:
        """Say whether an edge makes `effect`, seen beside `cause`, a consequence of it.

        An edge to a general failure holds for all its kinds, and a kind follows what its general
        failure follows.
        """
        causes = {cause, *self.general_failures(cause)}
        effects = (effect, *self.general_failures(effect))
        return any(causes.intersection(self.failures[slug].consequence_of) for slug in effects)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a failure file: where, what, and what to do."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def load(folder: Path = FAILURES) -> Catalogue:
    """Read every `<category>/<slug>.md` below `folder`.

    Raises CatalogueError for a file that cannot be parsed, or where one slug stands twice.
    """
    failures: dict[str, Failure] = {}
    for path in sorted(folder.glob("*/*.md"), key=lambda path: (path.stem, path.parent.name)):
        failure = parse(path.read_text(encoding="utf-8"), path)
        if failure.slug in failures:
            other = failures[failure.slug].category
            raise CatalogueError(f"{path}:1: the slug stands in {other} too; a slug has one file")
        failures[failure.slug] = failure
    return Catalogue(failures)


def parse(text: str, path: Path) -> Failure:
    """Turn the text of the failure file at `path` into a Failure.

    Raises CatalogueError, with file and line, where the front matter is missing or no YAML, where a
    key is missing, unknown, given twice or of the wrong kind, or where text stands in no section.
    """
    from encyclopedia import failure_file

    return failure_file.parse(text, path)


def problems(catalogue: Catalogue, folder: Path = FAILURES) -> Iterator[Problem]:
    """Yield what breaks the schema, the names and the edges; nothing where all is well.

    The files below `folder` are read again only to say on which line a problem stands.
    """
    from encyclopedia import failure_rules

    return failure_rules.problems(catalogue, folder)
