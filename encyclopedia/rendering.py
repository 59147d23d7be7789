"""Markdown of a failure file to HTML that is safe to serve, with highlighted code.

A file reads on its page as it does in any repository browser (see `commonmark`). Raw HTML in it is
shown as text; what remains is cleaned by nh3 with a short list of tags, so that no file can bring a
script, a style or a foreign image.
"""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import nh3
from markdown import Markdown
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, String, Token
from pygments.util import ClassNotFound

from encyclopedia.commonmark import CommonMark

__all__ = ["plain_text", "render", "render_line"]

_TAGS = {
    *("a", "blockquote", "br", "code", "div", "em", "hr", "pre", "span", "strong"),
    *("h3", "h4", "li", "ol", "p", "ul"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "span": {"class"}}
# The few kinds of token that the stylesheet tells apart, under Pygments' own short names; a span
# for every blank and bracket would double the page's nodes.
_TOKEN_CLASSES: Mapping[object, str] = {
    Comment: "c",
    Generic.Deleted: "gd",
    Generic.Inserted: "gi",
    Generic.Output: "go",
    Generic.Prompt: "gp",
    Keyword: "k",
    Name.Attribute: "na",
    Name.Decorator: "nd",
    Name.Tag: "nt",
    Number: "m",
    String: "s",
}

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_INLINE_TAG = re.compile(r"</?(?:a|code|em|span|strong)\b[^>]*>")
_TAG = re.compile(r"<[^>]+>")
_SPACE = re.compile(r"\s+")


def render(markdown: str) -> str:
    """Return `markdown` as safe HTML; wide tables and code can be scrolled by keyboard."""
    found = _clean(_converters.page.reset().convert(markdown))
    found = found.replace("<pre>", '<pre tabindex="0">')
    return _TABLE.sub(
        r'<div class="scroll" role="region" aria-label="Table" tabindex="0">\g<0></div>', found
    )


def render_line(markdown: str) -> str:
    """Return one line of `markdown` (a fact, a fix) as safe HTML without a paragraph around it."""
    paragraph = _converters.line.reset().convert(markdown)
    return _clean(paragraph.removeprefix("<p>").removesuffix("</p>"))


def plain_text(markup: str) -> str:
    """Return the words of HTML made by `render`, joined by single spaces."""
    words = _TAG.sub(" ", _INLINE_TAG.sub("", markup))
    return _SPACE.sub(" ", html.unescape(words)).strip()


def _code_block(code: str, language: str | None, *_more: object, **_options: object) -> str:
    """Return a fenced block as HTML; called by SuperFences."""
    lines = _highlight(f"{code}\n", language or "")
    return f"<pre><code>{lines}</code></pre>"


def _highlight(code: str, language: str) -> str:
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return html.escape(code, quote=False)
    return "".join(_spans(lexer.get_tokens(code)))


def _spans(tokens: Iterable[tuple[object, str]]) -> Iterable[str]:
    for name, run in groupby(tokens, key=lambda token: _token_class(token[0])):
        words = html.escape("".join(text for _kind, text in run), quote=False)
        yield f'<span class="{name}">{words}</span>' if name else words


def _token_class(kind: Any) -> str | None:
    while kind is not Token and kind not in _TOKEN_CLASSES:
        kind = kind.parent
    return _TOKEN_CLASSES.get(kind)


def _clean(markup: str) -> str:
    return nh3.clean(
        markup,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_keep_attribute,
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener",
    )


def _keep_attribute(_tag: str, name: str, value: str) -> str | None:
    if name == "class" and value not in _TOKEN_CLASSES.values():
        return None
    return value


def _page_converter() -> Markdown:
    fences = {
        "custom_fences": [{"name": "*", "class": "", "format": _code_block}],
        "disable_indented_code_blocks": True,  # what is indented belongs to a step of a list
        "preserve_tabs": True,
        "relaxed_headers": True,
    }
    return Markdown(
        extensions=["pymdownx.superfences", "sane_lists", "tables", CommonMark()],
        extension_configs={"pymdownx.superfences": fences},
        tab_length=2,  # so that what stands under the text of "- " or "1. " belongs to the item
    )


# All but "paragraph" and "empty".
_BLOCK_RULES = (
    *("code", "hashheader", "hr", "indent", "olist"),
    *("quote", "reference", "setextheader", "ulist"),
)


def _line_converter() -> Markdown:
    """Return a converter to which all text is one paragraph."""
    converter = Markdown(extensions=[CommonMark()])
    for name in _BLOCK_RULES:
        converter.parser.blockprocessors.deregister(name)
    return converter


class _Converters(threading.local):
    """A set for each thread, since a converter keeps state while it converts."""

    def __init__(self) -> None:
        self.page = _page_converter()
        self.line = _line_converter()


_converters = _Converters()
