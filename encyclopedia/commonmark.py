"""What Python-Markdown lacks to read a failure file as any repository browser does."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE

__all__ = ["CommonMark"]

# Below the preprocessor that has put a placeholder in the place of each block of code.
_AFTER_CODE_BLOCKS = 20
# Below the tree processor that has found the code within sentences.
_AFTER_INLINE_CODE = 15

_LIST_ITEM = re.compile(r" *(?:[-*+]|(?P<number>\d+)\.) +\S")


class CommonMark(Extension):
    """Shows HTML as text, and reads blocks, escapes and tables as CommonMark and GitHub do."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802, a name of Python-Markdown
        """Change the rules of `md`."""
        md.preprocessors.deregister("html_block")
        md.inlinePatterns.deregister("html")
        md.ESCAPED_CHARS = list(string.punctuation)
        md.preprocessors.register(_BlankLines(md), "blank_lines", _AFTER_CODE_BLOCKS)
        md.treeprocessors.register(_PipesInTables(md), "pipes_in_tables", _AFTER_INLINE_CODE)


class _BlankLines(Preprocessor):
    """Sets apart by blank lines the blocks that CommonMark tells apart without any."""

    def run(self, lines: list[str]) -> list[str]:
        return list(_separated(lines))


def _separated(lines: list[str]) -> Iterator[str]:
    first = previous = ""  # of the lines since the last blank one
    for line in lines:
        if previous and line.strip() and _begins_block(line, previous, first):
            yield ""
            previous = ""
        yield line
        first = line if not previous else first
        previous = line.strip() and line


def _begins_block(line: str, previous: str, first: str) -> bool:
    if _is_code(line) or _is_code(previous):
        return True
    if _is_row(line):
        return not _is_row(previous)
    if item := _LIST_ITEM.match(line):
        may_interrupt = item["number"] in {None, "1"} and not _LIST_ITEM.match(first)
        return may_interrupt or _indent(line) < _indent(first)
    return False


def _is_code(line: str) -> bool:
    return HTML_PLACEHOLDER_RE.fullmatch(line.strip()) is not None


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class _PipesInTables(Treeprocessor):
    r"""Drops the backslash of `\|` from code in a table, where a bare `|` would end the cell."""

    def run(self, root: Element) -> None:
        for table in root.iter("table"):
            for code in table.iter("code"):
                code.text = (code.text or "").replace(r"\|", "|")
