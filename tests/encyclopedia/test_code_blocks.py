"""Code of failure files as HTML."""

from __future__ import annotations

import html
import re

import pytest

from encyclopedia.code_blocks import code_block, whole_words
from encyclopedia.rendering import render


def text_of(markup: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", markup))


def test_it_works() -> None:
    assert code_block("import os  # why", "python") == (
        '<pre><code><span class="k">import</span> os  <span class="c"># why</span>\n</code></pre>'
    )


@pytest.mark.parametrize("language", ["", "text", "console", "bash", "python", "yaml", "brainwave"])
@pytest.mark.parametrize(
    "code",
    [
        "a",
        "a <b> && 'c-d' --e=\"f\" # g\n\n\ti: [j, k]",
        "$ df -h\n/dev/sda  100%\n$ exit",
        '"""one\ntwo\nthree"""',
        "sort \\\n  | uniq -c",
    ],
)
def test_highlighting_changes_no_character(language: str, code: str) -> None:
    assert text_of(code_block(code, language)) == f"{code}\n"


@pytest.mark.parametrize("language", ["", "text", "console", "bash", "sh"])
def test_each_line_of_a_log_or_a_command_is_an_element(language: str) -> None:
    markup = code_block("one\n\n'two\nthree'", language)
    before, *lines = markup.split('<span class="line">')
    assert before == '<pre class="wrapped"><code>'
    assert [text_of(line) for line in lines] == ["one\n", "\n", "'two\n", "three'\n"]


@pytest.mark.parametrize("language", ["python", "yaml", "json", "brainwave"])
def test_lines_of_other_code_are_not_wrapped(language: str) -> None:
    markup = code_block("- one:\n    two", language)
    assert "wrapped" not in markup
    assert "line" not in markup


def test_code_in_an_unknown_language_is_shown_as_it_is() -> None:
    assert code_block("a < b", "brainwave") == "<pre><code>a &lt; b\n</code></pre>"


def test_prompts_and_output_are_told_from_commands() -> None:
    markup = code_block("$ df /\n/dev/sda 100%", "console")
    assert '<span class="gp">$ </span>df /' in markup
    assert '<span class="go">/dev/sda 100%' in markup


def test_the_words_of_a_command_are_kept_whole() -> None:
    assert 'df <span class="word">-h</span> ' in code_block("df -h /", "bash")
    assert "word" not in code_block("rank-0 ended", "text")


def test_a_word_with_a_hyphen_is_kept_whole() -> None:
    assert whole_words("rm --force a") == 'rm <span class="word">--force</span> a'


def test_a_word_that_may_not_fit_a_short_line_is_kept_whole() -> None:
    assert whole_words("env TRACE_SIZE=2000 x") == 'env <span class="word">TRACE_SIZE=2000</span> x'


@pytest.mark.parametrize("language", ["bash", "python"])
def test_cleaning_leaves_a_block_as_it_is(language: str) -> None:
    code = "@once  # 'a-b' 1\nif x: echo -n \"c\""
    block = code_block(code, language)
    assert block.partition("><code>")[2] in render(f"```{language}\n{code}\n```\n")


def test_code_that_scrolls_can_be_scrolled_by_keyboard() -> None:
    assert '<pre tabindex="0"><code>' in render("```python\na\n```\n")
    assert "tabindex" not in render("```bash\na\n```\n")
