"""What the paste form says of itself, and the words of a verdict as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from django import template
from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from denpex.accounts.tiers import ANONYMOUS, Tier
from denpex.uploads import megabytes
from diagnosis.log_reader import anchor
from diagnosis.presentation import ROLES, LogLinks
from diagnosis.samples import SAMPLES, Sample
from diagnosis.timeline import KINDS, Lane, Mark, Timeline
from encyclopedia.code_names import names_as_code
from encyclopedia.rendering import placeholders_as_code

__all__ = [
    "anonymous_tier",
    "code_spans",
    "counted",
    "fate_hatch",
    "fix_spans",
    "headline",
    "highlighted",
    "line_anchor",
    "line_href",
    "linking_lines",
    "mark_in_words",
    "mark_shape",
    "paste_limit_megabytes",
    "rank_noun",
    "role_in_words",
    "sample_logs",
    "signs",
]

register = template.Library()

_CODE_SPAN = re.compile("`([^`]+)`")
# Names in code are long words: they may break where their parts meet.
_PART_OF_A_NAME = re.compile("[^_/]*[_/]+")
# A longer name of a host may be wider than a phone.
_LONGEST_KEPT_WHOLE = 24
_LINE = re.compile(r"\b([Ll]ine) (\d{1,9})(?: of ([\w.:@+=,/-]+))?")
# Lines of a 6 by 6 tile: a fate is told apart without its colour.
_HATCHES: Mapping[str, str] = {
    "initiated": "M0 0H6V6H0Z",
    "aborted_by_peer": "M-1 1 1-1M0 6 6 0M5 7 7 5",
    "torn_down": "M0 3H6",
    "stalled_waiting": "M3 2V4",
    "finished": "M3 0V6",
    "not_in_this_log": "",
}
_DIAMOND, _CIRCLE = "M0-8 8 0 0 8-8 0Z", "M-5 0A5 5 0 0 1 5 0 5 5 0 0 1-5 0Z"
_SQUARE = "M-4.5-4.5H4.5V4.5H-4.5Z"
_SHAPES: Mapping[str, tuple[str, str]] = {
    "initiating": (_DIAMOND, "\N{BLACK DIAMOND}"),
    "sign": (_DIAMOND, "\N{BLACK DIAMOND}"),
    "stopped": (_DIAMOND, "\N{BLACK DIAMOND}"),
    "cause": (_DIAMOND, "\N{BLACK DIAMOND}"),
    "symptom": (_CIRCLE, "\N{WHITE CIRCLE}"),
    "consequence": (_CIRCLE, "\N{WHITE CIRCLE}"),
    "recovered": (_CIRCLE, "\N{WHITE CIRCLE}"),
    "summary": (_SQUARE, "\N{WHITE SQUARE}"),
}


@register.simple_tag
def paste_limit_megabytes(of_sender: str = "") -> str:
    """Return the size limit of a log in megabytes: the sender's own, or everyone's."""
    return of_sender or megabytes(settings.DENPEX_LOG_LIMIT_BYTES)


@register.simple_tag
def anonymous_tier() -> Tier:
    """Return what a visitor without an account may do."""
    return ANONYMOUS


@register.simple_tag
def sample_logs() -> Iterable[Sample]:
    """Return the logs to try the site with."""
    return SAMPLES.values()


@register.filter
def fix_spans(text: str) -> SafeString:
    """Show a fix as `code_spans`, with the names in it that are surely code."""
    return code_spans(names_as_code(text))


@register.filter
def code_spans(text: str) -> SafeString:
    """Show `code` between backticks as code. Nothing else of Markdown: the text may quote a log."""
    return mark_safe(_CODE_SPAN.sub(r"<code>\1</code>", escape(placeholders_as_code(text))))  # noqa: S308


@register.filter
def counted(number: int, noun: str) -> str:
    """Return "1 line" or "4,098 lines"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


@register.filter
def headline(text: str, host: str | None) -> SafeString:
    """Show a summary as a heading that breaks within long names, and not within the host's."""
    kept = host if host and len(host) <= _LONGEST_KEPT_WHOLE else ""
    parts = text.split(kept) if kept else [text]
    broken = (_PART_OF_A_NAME.sub(r"\g<0><wbr>", escape(part)) for part in parts)
    return mark_safe(f'<span class="unbroken">{escape(kept)}</span>'.join(broken))  # noqa: S308


@register.filter
def highlighted(text: str, words: str) -> SafeString:
    """Show `text` with each place that holds `words` marked, upper or lower case."""
    if not words:
        return mark_safe(escape(text))  # noqa: S308
    parts = re.split(f"({re.escape(words)})", text, flags=re.IGNORECASE)
    marked = (
        f"<mark>{escape(part)}</mark>" if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
    return mark_safe("".join(marked))  # noqa: S308


@register.filter
def role_in_words(role: str) -> str:
    """Return what a line is to the verdict."""
    return ROLES[role]


@register.filter
def signs(drawing: Timeline) -> str:
    """Return what the signs of a timeline look like and mean."""
    meanings: dict[str, list[str]] = {}
    for kind in drawing.kinds:
        meanings.setdefault(_SHAPES[kind][1], []).append(KINDS[kind])
    told = [f"{sign} {' or '.join(words)}" for sign, words in meanings.items()]
    if drawing.has_crowds:
        told.append("\N{BOX DRAWINGS LIGHT VERTICAL} another, close by")
    if drawing.has_broken_bars:
        told.append("hatched: after the failure reached it")
    return "; ".join(told)


@register.filter
def mark_in_words(mark: Mark, lane: Lane) -> str:
    """Return what the link of a mark leads to."""
    events = ", ".join(f"line {event.line} ({KINDS[event.kind]})" for event in mark.events)
    return f"{lane.label}: {events}"


@register.filter
def rank_noun(ranks: str) -> str:
    """Return "Rank 3" or "Ranks 0-2": numbers in words behind their noun."""
    return f"Rank {ranks}" if ranks.isdecimal() else f"Ranks {ranks}"


@register.simple_tag
def fate_hatch(fate: str) -> str:
    """Return the path that fills the lane of ranks with this fate."""
    return _HATCHES[fate]


@register.simple_tag
def mark_shape(kind: str) -> str:
    """Return the path of the mark of such an event."""
    return _SHAPES[kind][0]


@register.simple_tag
def line_href(links: LogLinks, file: str, line: int) -> str:
    """Return where a line of the log is shown."""
    return links.to(file, line)


@register.simple_tag
def line_anchor(file_number: int, line: int) -> str:
    """Return the fragment of a line."""
    return anchor(file_number, line)


@register.simple_tag
def linking_lines(links: LogLinks, text: str) -> SafeString:
    """Show the engine's words with a link on each line that they name."""

    def linked(found: re.Match[str]) -> str:
        # What ends a sentence may end the name of a file, too.
        named = (found[3] or "", (found[3] or "").rstrip(".,:"))
        only = links.files[:1] if len(links.files) == 1 else ()
        file = next((name for name in (*named, *only) if name in links.files), None)
        if file is None:
            return found[0]
        href = links.to(file, int(found[2]))
        words = f"{found[1]} {found[2]}"
        rest = found[0].removeprefix(words)
        if file == links.home:
            rest = rest.removeprefix(f" of {file}")
        return f'<a href="{escape(href)}">{words}</a>{rest}'

    return mark_safe(_LINE.sub(linked, escape(text)))  # noqa: S308
