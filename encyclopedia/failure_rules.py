"""What a failure file must hold beyond what can be read: closed lists, names, edges, sections."""

from __future__ import annotations

import graphlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from encyclopedia.catalogue import (
    CATEGORIES,
    FAILURE_ROLES,
    PLACEHOLDER,
    ROLES,
    SECTIONS,
    SEVERITIES,
    TOLD_BY,
    WITHIN,
    Catalogue,
    Failure,
    Problem,
    Signature,
)
from encyclopedia.codes import compact, key_of
from encyclopedia.failure_file import Where, line_of, with_fences
from encyclopedia.messages import ANY_VALUE, place_in, values_of_one_run
from encyclopedia.system_names import ONE_NAME

__all__ = ["problems"]

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PAGE_LINK = re.compile(r"\]\(/failures/([^)#\s]*)")
_OPEN_ENDS = (" ", ",", ":", "(", "=")  # of a message, which stands alone in a title
_LEAST_TEXTS = 2  # among the `matches` of a failure, and among its `ignores`

_LABELLED: Mapping[str, Callable[[Failure], Sequence[str]]] = {
    "tags": lambda failure: failure.tags,
    "systems": lambda failure: failure.systems,
}

# What is wrong with a failure, and which value of its file says so.
_Finding = tuple[Where, str]


def problems(catalogue: Catalogue, folder: Path) -> Iterator[Problem]:
    """Yield what breaks the rules: see `catalogue.problems`."""
    names = _names(catalogue)
    owners = _owners_of_codes(catalogue)
    spellings = {key: _spellings(catalogue, key) for key in _LABELLED}
    for failure in catalogue:
        for where, message in (
            *_closed_lists(failure),
            *_message_problems(failure),
            *_signature_problems(failure),
            *_slug_problems(failure, catalogue, names),
            *_code_problems(failure, owners),
            *_label_problems(failure, spellings),
            *_section_problems(failure),
            *_fix_problems(failure),
            *_page_link_problems(failure, names),
        ):
            yield _problem(failure, folder, where, message)
    for key, edges in (("kind_of", _kinds), ("consequence_of", _causes)):
        cycle = _cycle({failure.slug: edges(failure, catalogue) for failure in catalogue})
        if cycle:
            message = f"{key} forms a cycle: {' → '.join(cycle)}"
            yield _problem(catalogue.failures[cycle[0]], folder, (key,), message)


def _problem(failure: Failure, folder: Path, where: Where, message: str) -> Problem:
    name = f"{failure.category}/{failure.slug}.md"
    path = folder / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return Problem(name, line_of(where, text), message)


def _names(catalogue: Catalogue) -> Mapping[str, list[str]]:
    names: dict[str, list[str]] = {}
    for failure in catalogue:
        for name in (failure.slug, *failure.aliases):
            names.setdefault(name, []).append(failure.slug)
    return names


def _owners_of_codes(catalogue: Catalogue) -> Mapping[str, list[str]]:
    owners: dict[str, list[str]] = {}
    for failure in catalogue:
        for code in failure.codes:
            owners.setdefault(compact(key_of(code) or ""), []).append(failure.slug)
    return owners


def _code_problems(failure: Failure, owners: Mapping[str, list[str]]) -> Iterator[_Finding]:
    for index, code in enumerate(failure.codes):
        key = key_of(code)
        if key is None:
            yield ("codes", index), f"{code!r} is no code such as Xid 79, exit 137 or SIGBUS"
        elif len(slugs := owners[compact(key)]) > 1:
            yield ("codes", index), f"the code {code} stands for {' and '.join(slugs)}"


def _spellings(catalogue: Catalogue, key: str) -> Mapping[str, Sequence[str]]:
    spellings: dict[str, set[str]] = {}
    for failure in catalogue:
        for label in _LABELLED[key](failure):
            spellings.setdefault(_spelling_key(label), set()).add(label)
    return {each: sorted(labels) for each, labels in spellings.items()}


def _spelling_key(name: str) -> str:
    """Return what all spellings of a name have in common: its letters and digits."""
    return "".join(character for character in name.lower() if character.isalnum())


def _label_problems(
    failure: Failure, spellings: Mapping[str, Mapping[str, Sequence[str]]]
) -> Iterator[_Finding]:
    """Each label is a filter of the list of failures, and two names of one thing would part it."""
    for key, labels_of in _LABELLED.items():
        for index, label in enumerate(labels_of(failure)):
            found = spellings[key][_spelling_key(label)]
            if len(found) > 1:
                yield (key, index), f"one name is spelt in {len(found)} ways: {', '.join(found)}"
    for index, system in enumerate(failure.systems):
        if system in ONE_NAME:
            yield ("systems", index), f"{system} is called {ONE_NAME[system]} here"


def _fix_problems(failure: Failure) -> Iterator[_Finding]:
    """Yield where a fix leaves open what a log tells, outside of the sentence for it."""
    fix = failure.fix
    for key, text in (("summary", fix.summary), ("infra", fix.infra), ("expect", fix.expect)):
        if PLACEHOLDER.search(text or ""):
            yield ("fix", key), f"fix.{key} leaves a value open that only a log tells"
    if fix.told is not None and not PLACEHOLDER.search(fix.told):
        yield ("fix", "told"), "fix.told adds nothing that a log tells: it belongs to summary"
    if (fix.expect is None) != (fix.verify is None):
        yield ("fix", "verify"), "fix.verify and fix.expect, what it shows, stand together"


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
    if not failure.references:
        yield ("references",), "references: at least one official document or upstream issue"
    for index, reference in enumerate(failure.references):
        if not reference.url.startswith("https://"):
            message = f"reference {reference.title!r}: the address starts with https://"
            yield ("references", index, "url"), message
    for key, items in (("tags", failure.tags), ("systems", failure.systems)):
        if not items:
            yield (key,), f"{key} is empty"


def _message_problems(failure: Failure) -> Iterator[_Finding]:
    """Yield what is wrong with the message, which people know the failure by."""
    if failure.message is None:
        return
    if not _is_printed(failure.message, failure):
        yield ("message",), "message stands in none of the texts among matches"
    if failure.message.endswith(_OPEN_ENDS):
        yield ("message",), "message stops in mid-sentence: end it with a word, or go on"
    for value in values_of_one_run(failure.message):
        yield ("message",), f"message holds {value!r} of one run: write {ANY_VALUE} in its place"


def _is_printed(message: str, failure: Failure) -> bool:
    texts = (text for signature in failure.signatures for text in signature.matches)
    return any(place_in(line, message) >= 0 for text in texts for line in text.splitlines())


def _signature_problems(failure: Failure) -> Iterator[_Finding]:
    here: Where = ("signatures",)
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
    linked: Iterable[tuple[Where, str]] = (
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
        if any(line.startswith("# ") and not code for line, code in with_fences(section.markdown)):
            yield where, f"the section {section.heading!r} has a # heading: that is the title's"


def _page_link_problems(failure: Failure, names: Mapping[str, Sequence[str]]) -> Iterator[_Finding]:
    for section in failure.sections:
        for name in _PAGE_LINK.findall(section.markdown):
            if name.rstrip("/") not in names:
                yield (f"## {section.heading}",), f"a link leads to /failures/{name}: no such page"


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
