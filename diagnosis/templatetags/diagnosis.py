"""What the paste form says of itself, and the words of a verdict as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django import template
from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from denpex.accounts.tiers import ANONYMOUS, Tier
from denpex.uploads import megabytes
from diagnosis.samples import SAMPLES, Sample

__all__ = ["anonymous_tier", "code_spans", "paste_limit_megabytes", "sample_logs"]

register = template.Library()

_CODE_SPAN = re.compile("`([^`]+)`")


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
def code_spans(text: str) -> SafeString:
    """Show `code` between backticks as code. Nothing else of Markdown: the text may quote a log."""
    return mark_safe(_CODE_SPAN.sub(r"<code>\1</code>", escape(text)))  # noqa: S308
