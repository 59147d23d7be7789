"""Code of a failure file as HTML: highlighted by classes, in lines that can wrap."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, String, Token
from pygments.util import ClassNotFound

__all__ = ["CLASSES", "code_block", "command_lines", "whole_words"]

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
_WRAPPED, _LINE, _WORD = "wrapped", "line", "word"
CLASSES = frozenset({*_TOKEN_CLASSES.values(), _WRAPPED, _LINE, _WORD})

# Long lines that are read to their end. In all other code the indentation tells more.
_COMMANDS = frozenset({"bash", "console", "sh"})
_LOGS = frozenset({"", "text"})

_LINE_PART = re.compile(r"[^\n]*\n|[^\n]+")
# Words that a browser would break: at a hyphen, or where they meet the end of a short line.
_BREAKABLE = re.compile(r"[^\s-]*-\S*|\S{12,}")


def code_block(code: str, language: str) -> str:
    """Return `code` as a block of HTML; `language` is "" where none is given.

    Lines of logs and commands are elements of their own, so that each can wrap with an indent.
    """
    lines = _lines(f"{code}\n", language)
    if language not in _COMMANDS | _LOGS:
        return f"<pre><code>{''.join(lines)}</code></pre>"
    spans = "".join(f'<span class="{_LINE}">{line}</span>' for line in lines)
    return f'<pre class="{_WRAPPED}"><code>{spans}</code></pre>'


def whole_words(markup: str) -> str:
    """Keep the words of a command whole where it wraps: `--force` is not `--` and `force`.

    `markup` is escaped text without tags.
    """
    return _BREAKABLE.sub(rf'<span class="{_WORD}">\g<0></span>', markup)


def command_lines(markup: str) -> str:
    """Mark the lines of a command, so that what wraps of one is no line of its own.

    `markup` is escaped text without tags.
    """
    lines = whole_words(markup).splitlines(keepends=True)
    return "".join(f'<span class="{_LINE}">{line}</span>' for line in lines)


def _lines(code: str, language: str) -> Iterator[str]:
    """Yield each line of `code` as HTML, with its line end."""
    line = ""
    for name, text in _runs(code, language):
        for part in _LINE_PART.findall(text):
            words = html.escape(part, quote=False)
            if language in _COMMANDS:
                words = whole_words(words)
            line += f'<span class="{name}">{words}</span>' if name else words
            if part.endswith("\n"):
                yield line
                line = ""


def _runs(code: str, language: str) -> Iterator[tuple[str | None, str]]:
    """Yield the class and the text of each run of tokens of one class."""
    tokens: Iterable[tuple[object, str]] = _lexer(language).get_tokens(code)
    for name, run in groupby(tokens, key=lambda token: _token_class(token[0])):
        yield name, "".join(text for _kind, text in run)


def _lexer(language: str) -> Any:
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return TextLexer()


def _token_class(kind: Any) -> str | None:
    while kind is not Token and kind not in _TOKEN_CLASSES:
        kind = kind.parent
    return _TOKEN_CLASSES.get(kind)
