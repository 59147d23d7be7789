"""The catalogue: one failure, one Markdown file with YAML front matter.

`load` reads the folder of failure files into plain frozen dataclasses; `problems` says what is
wrong with them. Nothing here imports Django, so the command line reads the very same files as the
site.
"""

from __future__ import annotations

import datetime as dt
import graphlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

__all__ = [
    "CATEGORIES",
    "FAILURES",
    "ROLES",
    "SECTIONS",
    "SEVERITIES",
    "SHORT_PAGE",
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

_LEAST_TEXTS = 2  # among the `matches` of a failure, and among its `ignores`

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

# A page with exactly these is whole as far as it goes, and says that it is short.
SHORT_PAGE = ("Quick answer", "What you saw")

_FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n(.*)\Z", re.DOTALL | re.MULTILINE)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


# The keys and indices that lead to a value of the front matter; ("## Fix",) is a section.
_Where = tuple[str | int, ...]


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
    """The fix in one sentence, a command for it, one that proves it, and the platform's part."""

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
    reviewed: dt.date
    sections: tuple[Section, ...]
    message: str | None = None  # the fixed part of what it prints, as people search for it

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
    found = _FRONT_MATTER.match(text)
    if not found:
        raise CatalogueError(f"{path}:1: the file starts with '---', YAML and '---'")
    front_matter, body = found[1], found[2]
    try:
        data = yaml.load(front_matter, Loader=_Loader)  # noqa: S506
        return _failure(_Reader(data, ()), tuple(_sections(body)), path)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise CatalogueError(f"{path}:{line}: the YAML cannot be read: {error.problem}") from error
    except yaml.YAMLError as error:
        raise CatalogueError(f"{path}:1: the YAML cannot be read: {error}") from error
    except _ReadingError as error:
        line = _line_of(error.where, text)
        raise CatalogueError(f"{path}:{line}: {error}") from error


class _Loader(_SafeLoader):
    """YAML's safe subset, without a key that silently takes the place of an earlier one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        keys = [self.construct_object(key, deep=True) for key, _value in node.value]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                mark = node.value[index][0].start_mark
                raise yaml.MarkedYAMLError(problem=f"{key!r} stands twice", problem_mark=mark)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


class _ReadingError(Exception):
    """A value that is not what the schema asks for; `where` is the way of keys to it."""

    def __init__(self, where: _Where, message: str) -> None:
        name = ".".join(str(key) for key in where)
        super().__init__(f"{name}: {message}" if name else message)
        self.where = where


class _Reader:
    """Takes the values of one YAML mapping by key and kind, and knows which were not asked for."""

    def __init__(self, data: object, where: _Where) -> None:
        if not isinstance(data, dict):
            raise _ReadingError(where, "is a mapping of keys to values")
        self._data = dict(data)
        self._where = where

    def text(self, key: str) -> str:
        return _text(self._take(key), (*self._where, key))

    def optional_text(self, key: str) -> str | None:
        return None if self._absent(key) else self.text(key)

    def texts(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        items = self._items(key, optional=optional)
        return tuple(_text(value, where) for where, value in items)

    def mappings(self, key: str, *, optional: bool = False) -> Iterator[_Reader]:
        for where, value in self._items(key, optional=optional):
            yield _Reader(value, where)

    def mapping(self, key: str) -> _Reader:
        return _Reader(self._take(key), (*self._where, key))

    def optional_mapping(self, key: str) -> _Reader:
        return _Reader({}, self._where) if self._absent(key) else self.mapping(key)

    def date(self, key: str) -> dt.date:
        value = self._take(key)
        if type(value) is not dt.date:
            raise self._error(key, f"is a date such as 2026-12-01, not {value!r}")
        return value

    def finish(self) -> None:
        """Raise _ReadingError where a key is left that nothing asked for."""
        for key in self._data:
            raise self._error(key, "is no key of the schema here")

    def _absent(self, key: str) -> bool:
        """Say whether `key` is missing or null, and drop it if so."""
        if self._data.get(key) is not None:
            return False
        self._data.pop(key, None)
        return True

    def _items(self, key: str, *, optional: bool) -> Iterator[tuple[_Where, Any]]:
        if optional and self._absent(key):
            return
        values = self._take(key)
        if not isinstance(values, list):
            raise self._error(key, f"is a list, not {values!r}")
        for index, value in enumerate(values):
            yield (*self._where, key, index), value

    def _take(self, key: str) -> Any:
        if key not in self._data:
            raise _ReadingError(self._where, f"the key {key!r} is missing")
        return self._data.pop(key)

    def _error(self, key: str, message: str) -> _ReadingError:
        return _ReadingError((*self._where, key), message)


def _text(value: object, where: _Where) -> str:
    if not isinstance(value, str):
        raise _ReadingError(where, f"is text; put {value!r} in quotes if it is meant as such")
    return value


def _failure(data: _Reader, sections: tuple[Section, ...], path: Path) -> Failure:
    role = data.text("role")
    failure = Failure(
        slug=path.stem,
        category=path.parent.name,
        title=data.text("title"),
        severity=data.text("severity"),
        role=role,
        told_by=data.text("told_by"),
        kind_of=data.optional_text("kind_of"),
        tags=data.texts("tags"),
        systems=data.texts("systems"),
        signatures=tuple(_signature(each, role) for each in data.mappings("signatures")),
        consequence_of=data.texts("consequence_of"),
        looks_like=tuple(map(_look_alike, data.mappings("looks_like"))),
        facts=_facts(data.mapping("facts")),
        fix=_fix(data.mapping("fix")),
        aliases=data.texts("aliases"),
        references=tuple(map(_reference, data.mappings("references"))),
        reviewed=data.date("reviewed"),
        sections=sections,
        message=data.optional_text("message"),
    )
    data.finish()
    return failure


def _signature(data: _Reader, failure_role: str) -> Signature:
    signature = Signature(
        id=data.text("id"),
        pattern=data.text("pattern"),
        role=data.optional_text("role") or failure_role,
        requires=tuple(map(_requirement, data.mappings("requires", optional=True))),
        excludes=tuple(map(_requirement, data.mappings("excludes", optional=True))),
        captures=data.optional_text("captures"),
        matches=data.texts("matches", optional=True),
        ignores=data.texts("ignores", optional=True),
    )
    data.finish()
    return signature


def _requirement(data: _Reader) -> Requirement:
    requirement = Requirement(
        pattern=data.text("pattern"), within=data.optional_text("within") or "event"
    )
    data.finish()
    return requirement


def _look_alike(data: _Reader) -> LookAlike:
    look_alike = LookAlike(slug=data.text("slug"), tell_apart=data.text("tell_apart"))
    data.finish()
    return look_alike


def _facts(data: _Reader) -> Facts:
    monitor = data.optional_mapping("monitor")
    facts = Facts(
        layer=data.optional_text("layer"),
        affects=data.optional_text("affects"),
        time_to_fix=data.optional_text("time_to_fix"),
        cheapest_check=data.optional_text("cheapest_check"),
        recurs=data.optional_text("recurs"),
        monitor=Monitor(
            grep=monitor.optional_text("grep"),
            logql=monitor.optional_text("logql"),
            promql=monitor.optional_text("promql"),
        ),
    )
    monitor.finish()
    data.finish()
    return facts


def _fix(data: _Reader) -> Fix:
    fix = Fix(
        summary=data.text("summary"),
        command=data.optional_text("command"),
        verify=data.optional_text("verify"),
        infra=data.optional_text("infra"),
    )
    data.finish()
    return fix


def _reference(data: _Reader) -> Reference:
    reference = Reference(title=data.text("title"), url=data.text("url"))
    data.finish()
    return reference


def _sections(body: str) -> Iterator[Section]:
    heading: str | None = None
    lines: list[str] = []
    for line, fenced in _with_fences(body):
        if line.startswith("## ") and not fenced:
            yield from _section(heading, lines)
            heading, lines = line[3:].strip(), []
        else:
            lines.append(line)
    yield from _section(heading, lines)


def _section(heading: str | None, lines: Sequence[str]) -> Iterator[Section]:
    text = "\n".join(lines).strip()
    if heading is not None:
        yield Section(heading, text)
    elif text:
        raise _ReadingError((), f"text stands above the first ## heading: {text[:40]!r}")


def _with_fences(body: str) -> Iterator[tuple[str, bool]]:
    """Yield each line of `body` and whether it belongs to a fenced block of code."""
    fence: str | None = None
    for line in body.splitlines():
        found = _FENCE.match(line)
        if fence is None:
            fence = found[1] if found else None
            yield line, found is not None
        else:
            yield line, True
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = None


def _line_of(where: _Where, text: str) -> int:
    """Return the line of a failure file's `text`, from 1, on which `where` stands, or starts."""
    if where and str(where[0]).startswith("## "):
        lines = text.splitlines()
        return lines.index(str(where[0])) + 1 if where[0] in lines else 1
    found = _FRONT_MATTER.match(text)
    node = yaml.compose(found[1], Loader=_SafeLoader) if found else None
    line = 1
    for key in where:
        step = _step(node, key)
        if step is None:
            break
        line, node = step
    return line


def _step(node: yaml.Node | None, key: str | int) -> tuple[int, yaml.Node] | None:
    # The front matter's first line is the file's second, and marks count from 0.
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
        return node.value[key].start_mark.line + 2, node.value[key]
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return name.start_mark.line + 2, value
    return None


# What is wrong with a failure, and which value of its file says so.
_Finding = tuple[_Where, str]


def problems(catalogue: Catalogue, folder: Path = FAILURES) -> Iterator[Problem]:
    """Yield what breaks the schema, the names and the edges; nothing where all is well.

    The files below `folder` are read again only to say on which line a problem stands.
    """
    names = _names(catalogue)
    for failure in catalogue:
        for where, message in (
            *_closed_lists(failure),
            *_signature_problems(failure),
            *_slug_problems(failure, catalogue, names),
            *_section_problems(failure),
        ):
            yield _problem(failure, folder, where, message)
    for key, edges in (("kind_of", _kinds), ("consequence_of", _causes)):
        cycle = _cycle({failure.slug: edges(failure, catalogue) for failure in catalogue})
        if cycle:
            message = f"{key} forms a cycle: {' → '.join(cycle)}"
            yield _problem(catalogue.failures[cycle[0]], folder, (key,), message)


def _problem(failure: Failure, folder: Path, where: _Where, message: str) -> Problem:
    name = f"{failure.category}/{failure.slug}.md"
    path = folder / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return Problem(name, _line_of(where, text), message)


def _names(catalogue: Catalogue) -> Mapping[str, list[str]]:
    names: dict[str, list[str]] = {}
    for failure in catalogue:
        for name in (failure.slug, *failure.aliases):
            names.setdefault(name, []).append(failure.slug)
    return names


def _closed_lists(failure: Failure) -> Iterator[_Finding]:
    closed: Iterable[tuple[str, str, Sequence[str]]] = (
        ("category", failure.category, CATEGORIES),
        ("severity", failure.severity, SEVERITIES),
        ("role", failure.role, FAILURE_ROLES),
        ("told_by", failure.told_by, TOLD_BY),
    )
    for key, value, allowed in closed:
        if value not in allowed:
            yield (key,), f"{key} is {value!r}; it is one of {', '.join(allowed)}"
    if not failure.title.strip():
        yield ("title",), "title is empty"
    if failure.message is not None and not _is_printed(failure.message, failure):
        yield ("message",), "message stands in none of the texts among matches"
    if not failure.references:
        yield ("references",), "references: at least one official document or upstream issue"
    for index, reference in enumerate(failure.references):
        if not reference.url.startswith("https://"):
            message = f"reference {reference.title!r}: the address starts with https://"
            yield ("references", index, "url"), message
    for key, items in (("tags", failure.tags), ("systems", failure.systems)):
        if not items:
            yield (key,), f"{key} is empty"


def _is_printed(message: str, failure: Failure) -> bool:
    texts = (text for signature in failure.signatures for text in signature.matches)
    return bool(message) and any(message in text for text in texts)


def _signature_problems(failure: Failure) -> Iterator[_Finding]:
    here: _Where = ("signatures",)
    if failure.told_by == "text" and not failure.signatures:
        yield here, "told_by is text, and there is no signature"
    if failure.told_by == "comparison" and failure.signatures:
        yield here, "told_by is comparison: such a failure has a named rule and no signature"
    if len({signature.id for signature in failure.signatures}) < len(failure.signatures):
        yield here, "two signatures have one id"
    if failure.signatures and sum(len(each.matches) for each in failure.signatures) < _LEAST_TEXTS:
        yield here, "at least two texts among matches"
    if failure.signatures and sum(len(each.ignores) for each in failure.signatures) < _LEAST_TEXTS:
        yield here, "at least two near misses among ignores"
    for index, signature in enumerate(failure.signatures):
        for key, message in _problems_of(signature, failure):
            yield (*here, index, key), f"signature {signature.id}: {message}"


def _problems_of(signature: Signature, failure: Failure) -> Iterator[tuple[str, str]]:
    if signature.role not in ROLES:
        yield "role", f"role is {signature.role!r}; one of {', '.join(ROLES)}"
    elif failure.role in ROLES and ROLES.index(signature.role) < ROLES.index(failure.role):
        yield "role", f"role {signature.role} is above the failure's {failure.role}"
    for key, requirements in (("requires", signature.requires), ("excludes", signature.excludes)):
        for each in requirements:
            if each.within not in WITHIN:
                yield key, f"within is {each.within!r}; one of {', '.join(WITHIN)}"
    if not _SLUG.fullmatch(signature.id):
        yield "id", "an id is lower-case words joined by hyphens"
    if not signature.pattern.strip():
        yield "pattern", "the pattern is empty"
    if not signature.matches and signature.role != "advice":
        yield "id", "no text among matches"


def _slug_problems(
    failure: Failure, catalogue: Catalogue, names: Mapping[str, list[str]]
) -> Iterator[_Finding]:
    for name in (failure.slug, *failure.aliases):
        if not _SLUG.fullmatch(name):
            yield ("aliases",), f"{name!r} is no slug: lower-case words joined by hyphens"
        if len(names[name]) > 1:
            yield ("aliases",), f"the name {name} stands for {' and '.join(names[name])}"
    linked: Iterable[tuple[_Where, str]] = (
        *((("consequence_of", index), slug) for index, slug in enumerate(failure.consequence_of)),
        *((("looks_like", index), each.slug) for index, each in enumerate(failure.looks_like)),
        *(((("kind_of",), failure.kind_of),) if failure.kind_of else ()),
    )
    seen: set[tuple[str | int, str]] = set()
    for where, slug in linked:
        if slug not in catalogue.failures:
            yield where, f"{where[0]}: there is no failure {slug}"
        if slug == failure.slug:
            yield where, f"{where[0]}: names the failure itself"
        if (where[0], slug) in seen:
            yield where, f"{where[0]}: names {slug} twice"
        seen.add((where[0], slug))


def _section_problems(failure: Failure) -> Iterator[_Finding]:
    headings = [section.heading for section in failure.sections]
    order = list(SECTIONS)
    for heading in headings:
        if heading not in SECTIONS:
            yield (f"## {heading}",), f"unknown section {heading!r}; known are {', '.join(order)}"
    for heading, required in SECTIONS.items():
        if required and heading not in headings and not failure.is_short:
            yield (), f"the section {heading!r} is missing"
    known = [heading for heading in headings if heading in SECTIONS]
    if known != sorted(known, key=order.index) or len(set(known)) < len(known):
        yield (), f"the sections stand in the order {', '.join(order)}, each once"
    for section in failure.sections:
        where = (f"## {section.heading}",)
        if not section.markdown:
            yield where, f"the section {section.heading!r} is empty: leave it out or fill it"
        if any(line.startswith("# ") and not code for line, code in _with_fences(section.markdown)):
            yield where, f"the section {section.heading!r} has a # heading: that is the title's"


def _kinds(failure: Failure, _catalogue: Catalogue) -> tuple[str, ...]:
    return (failure.kind_of,) if failure.kind_of else ()


def _causes(failure: Failure, catalogue: Catalogue) -> tuple[str, ...]:
    """Return all that `Catalogue.explains` lets explain `failure`: kinds of its edges as well."""
    others = (slug for slug in catalogue.failures if slug != failure.slug)
    return tuple(slug for slug in others if catalogue.explains(slug, failure.slug))


def _cycle(edges: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return the slugs along one cycle of `edges`, first and last the same; () where none is."""
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        return tuple(error.args[1])
    return ()
