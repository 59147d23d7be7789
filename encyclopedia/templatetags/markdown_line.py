"""Template filter: one line of Markdown (a fact, a fix, a difference) as HTML."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString, mark_safe

from encyclopedia.rendering import render_line

register = template.Library()


@register.filter
def markdown_line(text: str) -> SafeString:
    """Render `text`; nh3 has cleaned the result."""
    return mark_safe(render_line(text))  # noqa: S308
