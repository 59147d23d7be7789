"""The catalogue: one failure, one Markdown file with YAML front matter.

`load` reads the folder of failure files into plain frozen dataclasses; `problems` says what is wrong
with them. Nothing here imports Django, so the command line reads the very same files as the site.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = [
    "CATEGORIES",
    "FAILURES",
    "ROLES",
    "SECTIONS",
    "SEVERITIES",
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

CATEGORIES = (
    "memory",
    "communication",
    "hardware",
    "cuda-runtime",
    "storage",
    "data",
    "orchestration",
    "environment",
    "numerics",
    "framework",
    "serving",
)
SEVERITIES = ("critical", "high", "medium", "low")
# Strongest first: a signature may stand at its failure's role or further right, never further left.
ROLES = ("cause", "symptom", "consequence", "summary", "advice")
FAILURE_ROLES = ROLES[:4]
TOLD_BY = ("text", "comparison")
WITHIN = ("event", "source", "log")

# Heading → must every page have it. The order here is the order on the page.
SECTIONS: Mapping[str, bool] = {
    "Quick answer": True,
    "What you saw": True,
    "Is it this?": True,
    "Why it happens": True,
    "Fix": True,
    "Symptoms": False,
    "Prevent": False,
    "Code": False,
    "On call": False,
    "Engineer": False,
    "Executive": False,
    "Questions": False,
}

_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n(.*)\Z", re.DOTALL | re.MULTILINE)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = re.compile(r"^(```|~~~)")


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
    """The fix in one sentence, a command for it, a command that proves it, and the platform's part."""

    summary: str
    command: str | None = None
    verify: str | None = None
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
    reviewed: datetime.date
    sections: tuple[Section, ...]

    def section(self, heading: str) -> str | None:
        """Return the Markdown under `heading`, or None where the page has no such section."""
        return next((part.markdown for part in self.sections if part.heading == heading), None)


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
    for path in sorted(folder.glob("*/*.md"), key=lambda path: path.stem):
        if path.stem in failures:
            raise CatalogueError(f"{path}: the slug {path.stem} stands in two categories")
        failures[path.stem] = parse(path.read_text(encoding="utf-8"), path)
    return Catalogue(failures)


def parse(text: str, path: Path) -> Failure:
    """Turn the text of the failure file at `path` into a Failure.

    Raises CatalogueError where the front matter is missing, is no YAML, or lacks or adds a key.
    """
    found = _FRONT_MATTER.match(text)
    if not found:
        raise CatalogueError(f"{path}: starts with '---', YAML, '---'; this file does not")
    try:
        data = yaml.load(found[1], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise CatalogueError(f"{path}: the front matter is not YAML: {error}") from error
    if not isinstance(data, dict):
        raise CatalogueError(f"{path}: the front matter is not a mapping")
    try:
        return _failure(data, found[2], path)
    except (KeyError, TypeError, AttributeError) as error:
        raise CatalogueError(f"{path}: {_reading_error(error)}") from error


def _reading_error(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"the key {error} is missing"
    return f"a key is unknown or of the wrong kind: {error}"


def _failure(data: dict[str, Any], body: str, path: Path) -> Failure:
    facts = dict(data.pop("facts"))
    monitor = Monitor(**(facts.pop("monitor", None) or {}))
    return Failure(
        slug=path.stem,
        category=path.parent.name,
        title=data.pop("title"),
        severity=data.pop("severity"),
        role=data["role"],
        told_by=data.pop("told_by"),
        kind_of=data.pop("kind_of"),
        tags=tuple(data.pop("tags")),
        systems=tuple(data.pop("systems")),
        signatures=tuple(_signature(item, data["role"]) for item in data.pop("signatures")),
        consequence_of=tuple(data.pop("consequence_of")),
        looks_like=tuple(LookAlike(**item) for item in data.pop("looks_like")),
        facts=Facts(**facts, monitor=monitor),
        fix=Fix(**data.pop("fix")),
        aliases=tuple(data.pop("aliases")),
        references=tuple(Reference(**item) for item in data.pop("references")),
        reviewed=data.pop("reviewed"),
        sections=tuple(_sections(body)),
        **{key: value for key, value in data.items() if key != "role"},
    )


def _signature(item: dict[str, Any], failure_role: str) -> Signature:
    item = dict(item)
    return Signature(
        id=item.pop("id"),
        pattern=item.pop("pattern"),
        role=item.pop("role", failure_role),
        requires=tuple(Requirement(**each) for each in item.pop("requires", ())),
        excludes=tuple(Requirement(**each) for each in item.pop("excludes", ())),
        captures=item.pop("captures", None),
        matches=tuple(item.pop("matches", ())),
        ignores=tuple(item.pop("ignores", ())),
        **item,
    )


def _sections(body: str) -> Iterator[Section]:
    heading: str | None = None
    lines: list[str] = []
    fenced = False
    for line in body.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        if line.startswith("## ") and not fenced:
            if heading is not None:
                yield Section(heading, "\n".join(lines).strip())
            heading, lines = line[3:].strip(), []
        else:
            lines.append(line)
    if heading is not None:
        yield Section(heading, "\n".join(lines).strip())


def problems(catalogue: Catalogue) -> Iterator[Problem]:
    """Yield what breaks the schema, the names and the edges; nothing where all is well."""
    names = _names(catalogue)
    for failure in catalogue:
        for message in (
            *_closed_lists(failure),
            *_signature_problems(failure),
            *_slug_problems(failure, catalogue, names),
            *_section_problems(failure),
        ):
            yield Problem(f"{failure.category}/{failure.slug}.md", 1, message)
    for cycle in _cycles(catalogue):
        yield Problem(
            f"{catalogue.failures[cycle[0]].category}/{cycle[0]}.md",
            1,
            f"consequence_of forms a cycle: {' → '.join(cycle)}",
        )


def _names(catalogue: Catalogue) -> Mapping[str, list[str]]:
    names: dict[str, list[str]] = {}
    for failure in catalogue:
        for name in (failure.slug, *failure.aliases):
            names.setdefault(name, []).append(failure.slug)
    return names


def _closed_lists(failure: Failure) -> Iterator[str]:
    closed: Iterable[tuple[str, str, Sequence[str]]] = (
        ("category", failure.category, CATEGORIES),
        ("severity", failure.severity, SEVERITIES),
        ("role", failure.role, FAILURE_ROLES),
        ("told_by", failure.told_by, TOLD_BY),
    )
    for key, value, allowed in closed:
        if value not in allowed:
            yield f"{key} is {value!r}; it is one of {', '.join(allowed)}"
    if not isinstance(failure.reviewed, datetime.date):
        yield f"reviewed is {failure.reviewed!r}; it is a date such as 2026-12-01"
    if not failure.references:
        yield "references: at least one official document or upstream issue"
    for reference in failure.references:
        if not reference.url.startswith("https://"):
            yield f"reference {reference.title!r}: the address starts with https://"
    for key, items in (("tags", failure.tags), ("systems", failure.systems)):
        if not items:
            yield f"{key} is empty"


def _signature_problems(failure: Failure) -> Iterator[str]:
    if failure.told_by == "text" and not failure.signatures:
        yield "told_by is text, and there is no signature"
    if failure.told_by == "comparison" and failure.signatures:
        yield "told_by is comparison: such a failure has a named rule and no signature"
    if len({signature.id for signature in failure.signatures}) < len(failure.signatures):
        yield "two signatures have one id"
    for signature in failure.signatures:
        if signature.role not in ROLES:
            yield f"signature {signature.id}: role is {signature.role!r}; one of {', '.join(ROLES)}"
        elif failure.role in ROLES and ROLES.index(signature.role) < ROLES.index(failure.role):
            yield f"signature {signature.id}: role {signature.role} is above the failure's {failure.role}"
        for each in (*signature.requires, *signature.excludes):
            if each.within not in WITHIN:
                yield f"signature {signature.id}: within is {each.within!r}; one of {', '.join(WITHIN)}"
        if not _SLUG.fullmatch(signature.id):
            yield f"signature {signature.id}: an id is lower-case words joined by hyphens"
    if failure.signatures:
        if sum(len(signature.matches) for signature in failure.signatures) < 2:
            yield "at least two texts among matches"
        if sum(len(signature.ignores) for signature in failure.signatures) < 2:
            yield "at least two near misses among ignores"
        for signature in failure.signatures:
            if not signature.matches and signature.role != "advice":
                yield f"signature {signature.id}: no text among matches"


def _slug_problems(
    failure: Failure, catalogue: Catalogue, names: Mapping[str, list[str]]
) -> Iterator[str]:
    for name in (failure.slug, *failure.aliases):
        if not _SLUG.fullmatch(name):
            yield f"{name!r} is no slug: lower-case words joined by hyphens"
        if len(names[name]) > 1:
            yield f"the name {name} stands for {' and '.join(names[name])}"
    linked = (
        *(("consequence_of", slug) for slug in failure.consequence_of),
        *(("looks_like", other.slug) for other in failure.looks_like),
        *((("kind_of", failure.kind_of),) if failure.kind_of else ()),
    )
    for key, slug in linked:
        if slug not in catalogue.failures:
            yield f"{key}: there is no failure {slug}"
        if slug == failure.slug:
            yield f"{key}: names the failure itself"


def _section_problems(failure: Failure) -> Iterator[str]:
    headings = [section.heading for section in failure.sections]
    order = list(SECTIONS)
    for heading in headings:
        if heading not in SECTIONS:
            yield f"unknown section {heading!r}; known are {', '.join(order)}"
    for heading, required in SECTIONS.items():
        if required and heading not in headings:
            yield f"the section {heading!r} is missing"
    known = [heading for heading in headings if heading in SECTIONS]
    if known != sorted(known, key=order.index) or len(set(known)) < len(known):
        yield f"the sections stand in the order {', '.join(order)}, each once"
    for section in failure.sections:
        if not section.markdown:
            yield f"the section {section.heading!r} is empty: leave it out or fill it"


def _cycles(catalogue: Catalogue) -> Iterator[tuple[str, ...]]:
    """Yield each cycle of edges once, as the slugs along it (depth first, three colours)."""
    done: set[str] = set()
    for start in catalogue.failures:
        path: list[str] = []
        stack: list[tuple[str, bool]] = [(start, True)]
        while stack:
            slug, entering = stack.pop()
            if not entering:
                path.pop()
                done.add(slug)
            elif slug in path:
                yield (*path[path.index(slug) :], slug)
            elif slug not in done and slug in catalogue.failures:
                path.append(slug)
                stack.append((slug, False))
                failure = catalogue.failures[slug]
                follows = (*failure.consequence_of, *((failure.kind_of,) if failure.kind_of else ()))
                stack.extend((other, True) for other in follows)
