"""A mail as text and HTML, both from one template.

A template in `templates/mail/` is plain text: its first line is the subject, the rest are
paragraphs with empty lines between them. A paragraph that is an address alone becomes a link.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.template import Context, engines
from django.template.loader import render_to_string

__all__ = ["Letter", "write"]

_EMPTY_LINES = re.compile(r"\n\s*\n")
_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class Letter:
    """What a mail says."""

    subject: str
    text: str
    html: str


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str

    @property
    def is_link(self) -> bool:
        return _ADDRESS.fullmatch(self.text) is not None


def write(name: str, context: Mapping[str, Any]) -> Letter:
    """Fill `templates/mail/<name>.txt`; `origin` in it is the public address of the site."""
    template = engines["django"].engine.get_template(f"mail/{name}.txt")  # type: ignore[attr-defined]
    values = {"origin": settings.DENPEX_ORIGIN, **context}
    filled = template.render(Context(values, autoescape=False))
    subject, _, body = filled.strip().partition("\n")
    paragraphs = [_Paragraph(part.strip()) for part in _EMPTY_LINES.split(body.strip())]
    text = "\n\n".join(paragraph.text for paragraph in paragraphs) + "\n"
    html = render_to_string("mail/letter.html", {"subject": subject, "paragraphs": paragraphs})
    return Letter(" ".join(subject.split()), text, html)
