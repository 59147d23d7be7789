"""Template filters for the texts of a failure's page."""

from __future__ import annotations

from collections.abc import Mapping

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from encyclopedia import code_blocks
from encyclopedia.catalogue import PLACEHOLDER
from encyclopedia.rendering import fix_as_markdown, render_line

__all__ = ["command_lines", "fix_line", "has_placeholders", "markdown_line"]

register = template.Library()


@register.filter
def markdown_line(text: str) -> SafeString:
    """Render one line of Markdown (a fact, a fix, a difference); nh3 has cleaned the result."""
    return mark_safe(render_line(text))  # noqa: S308


@register.filter
def fix_line(text: str) -> SafeString:
    """Render a line of a fix: as `markdown_line`, with names and what a log tells set as code."""
    return markdown_line(fix_as_markdown(text))


@register.filter
def has_placeholders(fix: Mapping[str, str | None]) -> bool:
    """Say whether the fix or its commands leave open what only a log or a site tells."""
    return any(PLACEHOLDER.search(fix.get(key) or "") for key in ("summary", "command", "verify"))


@register.filter
def command_lines(command: str) -> SafeString:
    """Lay out a command so that it wraps between words, and with an indent."""
    return mark_safe(code_blocks.command_lines(escape(command)))  # noqa: S308
