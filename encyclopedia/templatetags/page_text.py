"""Template filters for the texts of a failure's page."""

from __future__ import annotations

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from encyclopedia import code_blocks
from encyclopedia.rendering import render_line

__all__ = ["command_lines", "markdown_line"]

register = template.Library()


@register.filter
def markdown_line(text: str) -> SafeString:
    """Render one line of Markdown (a fact, a fix, a difference); nh3 has cleaned the result."""
    return mark_safe(render_line(text))  # noqa: S308


@register.filter
def command_lines(command: str) -> SafeString:
    """Lay out a command so that it wraps between words, and with an indent."""
    return mark_safe(code_blocks.command_lines(escape(command)))  # noqa: S308
