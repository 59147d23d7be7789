"""The page of a failure as Markdown: its blocks in the page's order, each under its heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from django.conf import settings

from encyclopedia.models import Failure
from encyclopedia.page import Block, Page
from encyclopedia.rendering import fix_as_markdown

__all__ = ["as_markdown"]

_BACKTICKS = re.compile(r"`{3,}")
_BRACKET = re.compile(r"(?=[\[\]])")


def as_markdown(page: Page) -> str:
    """Return what the page says as one Markdown document."""
    parts = list(_header(page))
    for block in page.blocks:
        parts += [f"## {block.heading}", *_WRITERS[block.template](page, block)]
    return "\n\n".join((*parts, page.canonical)) + "\n"


def _header(page: Page) -> Iterator[str]:
    failure = page.failure
    reviewed = "not reviewed since" if page.is_stale else "reviewed"
    standing = (failure.category_name, f"severity {failure.severity}", page.role)
    yield f"# {failure.title}"
    yield " · ".join((*standing, f"{reviewed} {failure.reviewed.isoformat()}"))
    yield f"Systems: {', '.join(failure.systems)}"
    if codes := failure.codes.all():
        short = (f"{code.label}: {_absolute(code.get_absolute_url())}" for code in codes)
        yield f"Short addresses: {', '.join(short)}"
    if failure.message:
        yield _code(failure.message)


def _section(_page: Page, block: Block) -> Iterator[str]:
    yield block.markdown


def _quick_answer(page: Page, block: Block) -> Iterator[str]:
    fix = page.failure.fix
    yield block.markdown
    yield "### Fix, for ML engineers" if fix.get("infra") else "### Fix"
    yield fix_as_markdown(fix["summary"])
    for key, label in (("command", "Run"), ("verify", "Verify")):
        if fix.get(key):
            yield f"{label}:"
            yield _code(fix[key])
    if fix.get("expect"):
        yield f"Expect: {fix['expect']}"
    if fix.get("infra"):
        yield "### Fix, for infrastructure"
        yield fix_as_markdown(fix["infra"])


def _short(page: Page, _block: Block) -> Iterator[str]:
    yield page.short_note


def _not_this_if(page: Page, _block: Block) -> Iterator[str]:
    if differences := page.links.look_alikes:
        yield "\n".join(f"- {_link(each.other)}: {each.tell_apart}" for each in differences)
    if others := page.links.mistaken_for:
        named = ", ".join(_link(each, "#not-this-if") for each in others)
        yield f"Pages that say how to tell this one from them: {named}."


def _paste(page: Page, _block: Block) -> Iterator[str]:
    yield (
        f"Paste it at {page.canonical}#paste, or run `denpex diagnose FILE`: the same engine, with"
        " nothing uploaded."
    )


def _gate(page: Page, _block: Block) -> Iterator[str]:
    yield f"{page.invitation} Here it adds: {'; '.join(page.gated)}."
    yield f"Sign up: {_absolute(page.sign_up)} · Log in: {_absolute(page.log_in)}"


def _roles(page: Page, _block: Block) -> Iterator[str]:
    for section in page.roles:
        yield f"### {section['heading']}"
        yield section["markdown"]


def _facts(page: Page, _block: Block) -> Iterator[str]:
    yield "\n".join(f"- {question} {answer}" for question, answer in page.facts)


def _monitors(page: Page, _block: Block) -> Iterator[str]:
    for label, query in page.monitors:
        yield f"{label}:"
        yield _code(query)


def _before_and_after(page: Page, _block: Block) -> Iterator[str]:
    if page.links.causes:
        yield "### What may have failed before it"
        yield _list(page.links.causes)
    if page.links.effects:
        yield "### What follows from it"
        yield _list(page.links.effects)


def _feedback(page: Page, block: Block) -> Iterator[str]:
    yield f"Say yes or no at {page.canonical}#{block.anchor}"


def _related(page: Page, _block: Block) -> Iterator[str]:
    if page.failure.kind_of:
        yield f"A kind of {_link(page.failure.kind_of)}."
    if page.links.kinds:
        yield "### Kinds of it"
        yield _list(page.links.kinds)
    if page.links.related:
        if page.links.kinds:
            yield f"### More in {page.failure.category_name.lower()}"
        yield _list(page.links.related)


def _references(page: Page, _block: Block) -> Iterator[str]:
    yield "\n".join(
        f"- [{_link_text(each['title'])}]({each['url']})" for each in page.failure.references
    )


# Who writes what the template of a block shows.
_WRITERS: Mapping[str, Callable[[Page, Block], Iterator[str]]] = {
    f"encyclopedia/blocks/{name}.html": writer
    for name, writer in {
        "_before_and_after": _before_and_after,
        "_facts": _facts,
        "_feedback": _feedback,
        "_gate": _gate,
        "_monitor": _monitors,
        "_not_this_if": _not_this_if,
        "_paste": _paste,
        "_quick_answer": _quick_answer,
        "_references": _references,
        "_related": _related,
        "_roles": _roles,
        "_section": _section,
        "_short": _short,
    }.items()
}


def _list(failures: Iterable[Failure]) -> str:
    return "\n".join(f"- {_link(each)} ({each.severity})" for each in failures)


def _link(failure: Failure, anchor: str = "") -> str:
    address = _absolute(failure.get_absolute_url())
    return f"[{_link_text(failure.title)}]({address}{anchor})"


def _link_text(text: str) -> str:
    return _BRACKET.sub(r"\\", text)


def _absolute(path: str) -> str:
    return settings.DENPEX_ORIGIN + path


def _code(text: str) -> str:
    """Return `text` as a block of code, in a fence longer than any within it."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"
