"""Markdown of a failure file to HTML that is safe to serve, with highlighted code.

A file reads on its page as it does in any repository browser (see `commonmark`). Raw HTML in it is
shown as text; what remains is cleaned by nh3 with a short list of tags, so that no file can bring a
script, a style or a foreign image.
"""

from __future__ import annotations

import html
import re
import threading
from xml.etree.ElementTree import Element

import nh3
from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

from encyclopedia.catalogue import PLACEHOLDER
from encyclopedia.code_blocks import CLASSES, code_block
from encyclopedia.code_names import names_as_code
from encyclopedia.commonmark import CommonMark

__all__ = ["fix_as_markdown", "placeholders_as_code", "plain_text", "render", "render_line"]

_TAGS = {
    *("a", "blockquote", "br", "code", "div", "em", "hr", "pre", "span", "strong"),
    *("h3", "h4", "li", "ol", "p", "ul"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "pre": {"class"},
    "span": {"class"},
    "td": {"data-label"},
}
_CODE_OR_PLACEHOLDER = re.compile(rf"(?P<code>`[^`]*`)|{PLACEHOLDER.pattern}")
# When the text of a heading is final: below the tree processor that undoes escapes.
_LAST = -10

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_COLUMN = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
# A heading begins with a word, and with no name that is spelt as it is.
_FIRST_WORD = re.compile(r"\A[a-z]+(?![\w.-])")
_INLINE_TAG = re.compile(r"</?(?:a|code|em|span|strong)\b[^>]*>")
_TAG = re.compile(r"<[^>]+>")
_SPACE = re.compile(r"\s+")


def render(markdown: str) -> str:
    """Return `markdown` as safe HTML; wide tables and code can be scrolled by keyboard."""
    found = _clean(_converters.page.reset().convert(markdown))
    found = found.replace("<pre>", '<pre tabindex="0">')
    return _TABLE.sub(_scrolled, found)


def _scrolled(table: re.Match[str]) -> str:
    """Return a table in a region of its own, named by its headings as no two of a page are."""
    columns = (_SPACE.sub(" ", _TAG.sub("", each)).strip() for each in _COLUMN.findall(table[0]))
    heading = ", ".join(filter(None, columns))
    name = f"Table: {heading}".replace('"', "&quot;") if heading else "Table"
    return f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">{table[0]}</div>'


def render_line(markdown: str) -> str:
    """Return one line of `markdown` (a fact, a fix) as safe HTML without a paragraph around it."""
    paragraph = _converters.line.reset().convert(markdown)
    return _clean(paragraph.removeprefix("<p>").removesuffix("</p>"))


def placeholders_as_code(text: str) -> str:
    """Return a text of Markdown in which `<name>`, which only a log tells, is set as code."""
    return _CODE_OR_PLACEHOLDER.sub(lambda found: found["code"] or f"`{found[0]}`", text)


def fix_as_markdown(text: str) -> str:
    """Return a sentence of a fix with its names, and with what only a log tells, set as code."""
    return placeholders_as_code(names_as_code(text))


def plain_text(markup: str) -> str:
    """Return the words of HTML made by `render`, joined by single spaces."""
    words = _TAG.sub(" ", _INLINE_TAG.sub("", markup))
    return _SPACE.sub(" ", html.unescape(words)).strip()


def _fence(code: str, language: str | None, *_more: object, **_options: object) -> str:
    """Return a fenced block as HTML; called by SuperFences."""
    return code_block(code, language or "")


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
    if name == "class" and value not in CLASSES:
        return None
    return value


def _capital(word: re.Match[str]) -> str:
    return word[0].capitalize()


class _Labels(Extension):
    """Begins the headings of a table with a capital, and gives each cell that of its column."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802, a name of Python-Markdown
        md.treeprocessors.register(_CellLabels(md), "cell_labels", _LAST)


class _CellLabels(Treeprocessor):
    """A narrow page shows the cells of a row below each other, each with its label."""

    def run(self, root: Element) -> None:
        for table in root.iter("table"):
            for heading in table.iter("th"):
                heading.text = _FIRST_WORD.sub(_capital, heading.text or "")
            labels = ["".join(heading.itertext()).strip() for heading in table.iter("th")]
            for row in table.iter("tr"):
                for label, cell in zip(labels, row.findall("td"), strict=False):
                    cell.set("data-label", label)


def _page_converter() -> Markdown:
    fences = {
        "custom_fences": [{"name": "*", "class": "", "format": _fence}],
        "disable_indented_code_blocks": True,  # what is indented belongs to a step of a list
        "preserve_tabs": True,
        "relaxed_headers": True,
    }
    return Markdown(
        extensions=["pymdownx.superfences", "sane_lists", "tables", CommonMark(), _Labels()],
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
