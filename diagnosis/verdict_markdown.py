"""A verdict as Markdown, for an issue or a chat.

What a log says stands in it as code, where it can neither format, nor link, nor call anyone; so
does each word with a sign that could, since what escapes one shows in Slack and in mail. The
address of the verdict is left out: whoever has it may read the whole log, and delete it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from diagnosis.nearest import Near
from diagnosis.presentation import FateRow, Other, Possibility, VerdictPage

__all__ = ["as_markdown"]

# What formats; an address, which is a link wherever it stands; and what calls somebody on GitHub.
_ACTS = re.compile(r"(?i)[\\`*_{}\[\]<>#|~!&$@]|\bwww\.|://")
_BLANKS = re.compile(r"\s+")
_WORD = re.compile(r"\S+")
# A word between the signs of its sentence.
_IN_SENTENCE = re.compile(r"^(\(?)(.+?)(\)?[.,;:]*)$")
_TICKS = re.compile("`+")
_FENCE = re.compile("`{3,}")
_CODE_SPAN = re.compile("`([^`]+)`")


def as_markdown(page: VerdictPage, origin: str) -> str:
    """Return the whole verdict; `origin` stands before the addresses of failure pages."""
    blocks = [block for block in _blocks(page, origin) if block]
    return "\n\n".join(blocks) + "\n"


def _blocks(page: VerdictPage, origin: str) -> Iterator[str]:
    verdict = page.verdict
    primary = verdict["primary"] or {}
    yield f"### {'SAMPLE: ' if page.answer.sample else ''}{_plain(page.title)}"
    yield f"**{page.label.words}{f', {page.confidence.lower()}' if page.confidence else ''}.**" + (
        f" {_plain(primary['summary'])}" if primary else ""
    )
    if primary.get("failure"):
        yield f"About this failure: {origin}{primary['failure']['url']}"
    yield from _fix(verdict["fix"] or {})
    if primary.get("evidence"):
        yield "**Evidence**"
        yield _code("\n".join(_line(each, page) for each in primary["evidence"]))
    yield from _why(page)
    if page.possibilities:
        yield f"**What else it may be.**{_shared(page)}"
        yield "\n".join(_possibility(each, page) for each in page.possibilities)
    if page.nearest:
        yield "**The nearest known failures; none of them matches**"
        yield "\n".join(map(_near, page.nearest))
    if page.consequences:
        yield "**What followed from it**"
        yield "\n".join(_other(each, page) for each in page.consequences)
    if page.fates:
        yield "**Ranks**"
        yield "\n".join(_fate(row) for row in page.fates if row.words)
    coverage, engine = verdict["coverage"], verdict["engine"]
    yield (
        f"Denpex {engine['version']} read {coverage['lines']} masked lines"
        f" (engine {engine['fingerprint']})."
    )


def _fix(fix: Mapping[str, Any]) -> Iterator[str]:
    if not fix:
        return
    yield f"**Fix.** {_with_code(fix['summary'])}"
    if fix["command"]:
        yield _code(fix["command"], "sh")
    if fix["verify"]:
        yield "Verify:"
        yield _code(fix["verify"], "sh")
    if fix.get("expect"):
        yield f"Expect: {_with_code(fix['expect'])}"


def _why(page: VerdictPage) -> Iterator[str]:
    if page.why:
        yield f"**Why.** {_plain(page.why)}"
    if page.why_not:
        yield "\n".join(f"- {_plain(f'{each.title} {each.words}')}" for each in page.why_not)


def _line(evidence: Mapping[str, Any], page: VerdictPage) -> str:
    file = f"{evidence['file']}:" if page.many_files else "line "
    return f"{file}{evidence['line']}: {evidence['text']}"


def _shared(page: VerdictPage) -> str:
    speaks_for = page.shared_for and f" For all of them: {_with_code(page.shared_for)}"
    against = page.shared_against and f" Against all of them: {_with_code(page.shared_against)}"
    return speaks_for + against


def _possibility(possibility: Possibility, page: VerdictPage) -> str:
    told = {
        "for it": "" if page.shared_for else possibility.speaks_for,
        "against it": "" if page.shared_against else possibility.speaks_against,
        "collect next": possibility.collect_next,
    }
    lines = (f"  - {name}: {_with_code(words)}" for name, words in told.items() if words)
    return "\n".join((f"- {_plain(possibility.title)}", *lines))


def _near(near: Near) -> str:
    words = ", ".join(f"`{word}`" for word in near.only_there)
    return f"- {_plain(near.title)}" + (f", which says {words} besides" if words else "")


def _other(other: Other, page: VerdictPage) -> str:
    place = f"line {other.first.line}" + (f" of {other.first.file}" if page.many_files else "")
    who = ", ".join(filter(None, (other.ranks, _plain(other.hosts))))
    told = _plain(f" {other.reason.rstrip('.')}") if other.reason else f" ({who})" if who else ""
    times = f", {other.count} times" if other.count > 1 else ""
    return f"- {_plain(other.title)}{told}{times}, first on {_plain(place)}"


def _fate(row: FateRow) -> str:
    hosts = f" ({_plain(', '.join(row.hosts))})" if row.hosts else ""
    return f"- {row.ranks}{hosts}: {row.words}"


def _with_code(text: str) -> str:
    """Return text in which code between backticks is code, and nothing else is Markdown."""
    parts = _CODE_SPAN.split(text)
    return "".join(f"`{part}`" if place % 2 else _plain(part) for place, part in enumerate(parts))


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is: each word that would do more is code."""
    return _WORD.sub(lambda found: _harmless(found[0]), _BLANKS.sub(" ", text))


def _harmless(word: str) -> str:
    if not _ACTS.search(word):
        return word
    return _IN_SENTENCE.sub(lambda found: f"{found[1]}{_span(found[2])}{found[3]}", word, 1)


def _span(text: str) -> str:
    """Return a span of code whose fence is longer than any within it."""
    fence = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def _code(text: str, language: str = "text") -> str:
    """Return a block of code whose fence is longer than any within it."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
