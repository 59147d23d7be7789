"""The page of a failure as a list of blocks, in the order in which people need them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from django.conf import settings

from diagnosis.visitors import today
from encyclopedia import gate
from encyclopedia.models import Failure, LookAlike, SectionRow
from encyclopedia.structured_data import json_ld

__all__ = ["Block", "Links", "Page", "context", "page_of"]

_MOST_RELATED = 6
# A page says when it was not reviewed for longer than this.
_FRESH_FOR = dt.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Block:
    """One part of the page: where it stands, what it is called, which template shows it."""

    anchor: str
    heading: str
    template: str
    html: str = ""
    markdown: str = ""


_TEMPLATES = "encyclopedia/blocks"
_SECTION = f"{_TEMPLATES}/_section.html"

# Sections for one role each: of several, a reader opens their own.
_ROLE_SECTIONS = ("On call", "Engineer", "Executive")
_SHORT_NOTE = (
    "It holds the answer, the messages, the fix and its sources. How to confirm the failure step by"
    " step, why it happens and how to prevent it are not written yet."
)

# A section of the file by its heading, or a block of our own made of the front matter.
_ORDER: Sequence[str | Block] = (
    "Quick answer",
    "What you saw",
    Block("short", "This page is short", f"{_TEMPLATES}/_short.html"),
    "Is it this?",
    Block("not-this-if", "Not this if", f"{_TEMPLATES}/_not_this_if.html"),
    Block("paste", "Is this what broke your run? Paste your log.", f"{_TEMPLATES}/_paste.html"),
    "Why it happens",
    Block("full-steps", "The full steps", f"{_TEMPLATES}/_gate.html"),
    "Fix",
    "Symptoms",
    "Prevent",
    "Code",
    Block("your-role", "In your role", f"{_TEMPLATES}/_roles.html"),
    *_ROLE_SECTIONS,
    Block("facts", "At a glance", f"{_TEMPLATES}/_facts.html"),
    Block("monitor", "What to watch", f"{_TEMPLATES}/_monitor.html"),
    Block("before-and-after", "Before and after", f"{_TEMPLATES}/_before_and_after.html"),
    "Questions",
    Block("was-it", "Was this it?", f"{_TEMPLATES}/_feedback.html"),
    Block("related", "Related failures", f"{_TEMPLATES}/_related.html"),
    Block("references", "References", f"{_TEMPLATES}/_references.html"),
)
_OWN_TEMPLATES = {"Quick answer": f"{_TEMPLATES}/_quick_answer.html"}

# The standing questions that a failure file's facts answer.
_QUESTIONS: Mapping[str, str] = {
    "layer": "Hardware or software?",
    "affects": "Training, serving, or both?",
    "time_to_fix": "How long does the fix take?",
    "cheapest_check": "What is the cheapest check?",
    "recurs": "Does it come back?",
}
_MONITORS: Mapping[str, str] = {
    "grep": "In a log file",
    "logql": "In Loki (LogQL)",
    "promql": "In Prometheus (PromQL)",
}
# What the badge of a role says, where the role's own name would be taken for something else.
_BADGES: Mapping[str, str] = {"summary": "launcher's report"}
# What each role of a failure says to a reader.
_ROLES: Mapping[str, str] = {
    "cause": "Can be the root cause",
    "symptom": "A symptom: it says where the run hurt, not why",
    "consequence": "A consequence: something else failed first",
    "summary": "A launcher's report: the cause stands above it in the log",
}


@dataclass(frozen=True, slots=True)
class Links:
    """The other failures that a page names; `related` are none of those above it."""

    causes: tuple[Failure, ...]
    effects: tuple[Failure, ...]
    kinds: tuple[Failure, ...]
    look_alikes: tuple[LookAlike, ...]
    mistaken_for: tuple[Failure, ...]
    related: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the page of a failure says, in whatever form."""

    failure: Failure
    role: str
    role_badge: str
    links: Links
    facts: Sequence[tuple[str, str]]
    monitors: Sequence[tuple[str, str]]
    blocks: Sequence[Block]
    roles: Sequence[SectionRow]
    short_note: str
    invitation: str
    gated: Sequence[str]
    opened_at: str
    is_stale: bool
    sign_up: str
    log_in: str
    json_ld: str
    canonical: str


def context(failure: Failure, *, whole: bool) -> dict[str, object]:
    """Return what the page's template shows; `whole` with what an account opens."""
    page = page_of(failure, whole=whole)
    return {each.name: getattr(page, each.name) for each in fields(page)}


def page_of(failure: Failure, *, whole: bool) -> Page:
    """Return all that a page says; `whole` with what an account opens."""
    readable = gate.readable_sections(failure, whole=whole)
    roles = [section for section in readable if section["heading"] in _ROLE_SECTIONS]
    roles = roles if len(roles) > 1 else []
    links = _links(failure)
    facts = _answers(_QUESTIONS, failure.facts)
    monitors = _answers(_MONITORS, failure.facts.get("monitor") or {})
    filled = {
        "short": failure.is_short,
        "full-steps": bool(gate.gated_headings(failure, whole=whole)),
        "not-this-if": bool(links.look_alikes or links.mistaken_for),
        "paste": True,
        "your-role": bool(roles),
        "was-it": True,
        "facts": bool(facts),
        "monitor": bool(monitors),
        "before-and-after": bool(links.causes or links.effects),
        "related": bool(links.related or links.kinds or failure.kind_of),
        "references": bool(failure.references),
    }
    return Page(
        failure=failure,
        role=_ROLES[failure.role],
        role_badge=_BADGES.get(failure.role, failure.role),
        links=links,
        facts=facts,
        monitors=monitors,
        blocks=list(_blocks([each for each in readable if each not in roles], filled)),
        roles=roles,
        short_note=_SHORT_NOTE,
        invitation=gate.INVITATION,
        gated=gate.gated_parts(failure),
        opened_at=gate.first_gated_anchor(failure) if whole else "",
        is_stale=failure.reviewed < today() - _FRESH_FOR,
        sign_up=gate.sign_up_address(failure),
        log_in=gate.log_in_address(failure),
        json_ld=json_ld(failure),
        canonical=settings.DENPEX_ORIGIN + failure.get_absolute_url(),
    )


def _blocks(readable: Iterable[SectionRow], filled: Mapping[str, bool]) -> Iterator[Block]:
    """Yield the blocks that have something to say, in their order."""
    sections = {section["heading"]: section for section in readable}
    for item in _ORDER:
        if isinstance(item, Block):
            if filled[item.anchor]:
                yield item
        elif section := sections.get(item):
            template = _OWN_TEMPLATES.get(item, _SECTION)
            yield Block(section["anchor"], item, template, section["html"], section["markdown"])


def _answers(questions: Mapping[str, str], facts: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(question, facts[key]) for key, question in questions.items() if facts.get(key)]


def _links(failure: Failure) -> Links:
    look_alikes = tuple(failure.look_alikes.select_related("other"))
    named = tuple(each.other for each in look_alikes)
    mistaken_for = tuple(failure.mistaken_for().exclude(pk__in=[each.pk for each in named]))
    causes = tuple(failure.follows.gravest_first())
    effects = tuple(failure.leads_to.gravest_first())
    kinds = tuple(failure.kinds.gravest_first())
    linked = {each.pk for each in (*named, *mistaken_for, *causes, *effects, *kinds)}
    if failure.kind_of:
        linked.add(failure.kind_of.pk)
    return Links(causes, effects, kinds, look_alikes, mistaken_for, _related(failure, linked))


def _related(failure: Failure, linked: set[int]) -> tuple[Failure, ...]:
    """Return the nearest of the category that are not linked yet: most tags and systems shared."""
    words = {*failure.tags, *failure.systems}
    others = Failure.objects.related_to(failure).exclude(pk__in=linked).gravest_first()
    nearest = sorted(others, key=lambda each: -len(words.intersection(each.tags + each.systems)))
    return tuple(nearest[:_MOST_RELATED])
