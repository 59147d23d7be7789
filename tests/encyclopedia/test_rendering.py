"""Markdown of failure files as HTML that is safe to serve."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from encyclopedia.rendering import plain_text, render, render_line


def test_it_works() -> None:
    assert render("Read **this** `code`.") == (
        "<p>Read <strong>this</strong> <code>code</code>.</p>"
    )


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<b style="color:red" onclick="x()">bold</b>',
        "<iframe src='https://example.com'></iframe>",
        "<!-- comment -->",
    ],
)
def test_html_is_shown_as_text(hostile: str) -> None:
    for markup in (render(f"A {hostile} b\n\n{hostile}\n"), render_line(hostile)):
        assert f"<{hostile[1:4]}" not in markup
        assert f"&lt;{hostile[1:4]}" in markup


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "vbscript:x"])
def test_a_link_that_runs_something_is_no_link(address: str) -> None:
    assert "href" not in render(f"[click]({address})")


def test_an_image_is_not_fetched_from_elsewhere() -> None:
    assert "<img" not in render("![tracker](https://example.com/pixel.png)")


def test_a_placeholder_in_a_sentence_stays() -> None:
    assert plain_text(render("Set it on <node> first.")) == "Set it on <node> first."


def test_code_inside_a_step_keeps_its_lines() -> None:
    markup = render("1. Ask:\n\n   ```bash\n   df -h\n   du -s\n   ```\n\n   Then read.\n")
    assert code_of(markup) == "df -h\ndu -s\n"
    assert markup.count("<li>") == 1


@pytest.mark.parametrize("indent", [2, 3, 4])
@pytest.mark.parametrize("marker", ["-", "1."])
def test_what_is_indented_belongs_to_the_step(indent: int, marker: str) -> None:
    step = [f"{marker} Ask:", "", "```text", "one", "", "two", "```", "", "Then read.", ""]
    indented = [f"{' ' * indent}{line}" if line else "" for line in step[1:]]
    markup = render("\n".join([step[0], *indented, f"{marker} Next."]))
    assert code_of(markup) == "one\n\ntwo\n"
    assert "</pre>\n<p>Then read.</p>\n</li>" in markup
    assert markup.count("<li>") == 2
    assert plain_text(markup) == "Ask: one two Then read. Next."


def test_a_step_goes_on_after_code_without_a_blank_line() -> None:
    markup = render("1. Ask:\n   ```bash\n   df\n   ```\n   Then read.\n2. Next.\n")
    assert markup.count("<li>") == 2
    assert "</pre>\n<p>Then read.</p>\n</li>" in markup


def test_lists_nest_by_two_blanks() -> None:
    assert squeezed(render("- a\n  - b\n    - c\n- d\n")) == (
        "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li><li>d</li></ul>"
    )


def test_a_list_of_points_stands_within_a_step() -> None:
    markup = squeezed(render("1. a\n\n   more\n   - b\n   - c\n2. d\n"))
    assert markup == (
        "<ol><li><p>a</p><p>more</p><ul><li>b</li><li>c</li></ul></li><li><p>d</p></li></ol>"
    )


def test_steps_keep_their_numbers_around_a_block() -> None:
    markup = render("1. a\n\n```bash\ndf\n```\n\n2. b\n")
    assert '<ol start="2">' in markup


@pytest.mark.parametrize(
    "block", ["- a\n- b", "1. a\n2. b", "```text\na\nb\n```", "| a | b |\n| - | - |", "### a b"]
)
def test_a_block_needs_no_blank_line_before_it(block: str) -> None:
    together = squeezed(render(f"Do this:\n{block}\n"))
    assert together == squeezed(render(f"Do this:\n\n{block}\n"))
    assert together.startswith("<p>Do this:</p><")


@pytest.mark.parametrize("line", ["3. not a step", "-5 degrees", "+1 for it", "2026-11-30. A day"])
def test_a_sentence_that_looks_like_a_step_stays_a_sentence(line: str) -> None:
    assert render(f"It took until\n{line}") == f"<p>It took until\n{line}</p>"


@pytest.mark.parametrize(
    "text", ["NCCL_IB_HCA and TORCH_NCCL_DUMP_ON_TIMEOUT", "__init__.py", "step_1_of_2", "2*3"]
)
def test_underscores_in_a_name_are_no_emphasis(text: str) -> None:
    assert plain_text(render(text.replace("__init__", r"\_\_init\_\_"))) == text
    assert "<em>" not in render(text)


@pytest.mark.parametrize("character", "|<>$~&#*_@`[\"'\\")
def test_a_backslash_makes_any_mark_plain(character: str) -> None:
    assert plain_text(render(f"a \\{character} b")) == f"a {character} b"


@pytest.mark.parametrize("code", ["<name>", "a && b", "__init__", "*.pt", r"\d+\|", "&lt;"])
def test_code_in_a_sentence_stays_as_it_is(code: str) -> None:
    assert f"<code>{plain(code)}</code>" in render(f"Read `{code}` now.")
    assert f"<code>{plain(code)}</code>" in render_line(f"Read `{code}` now.")


def test_brackets_of_a_log_are_no_link() -> None:
    assert render("See [rank1] and [0][1].") == "<p>See [rank1] and [0][1].</p>"


def test_code_keeps_tabs_and_blank_lines() -> None:
    markup = render("- a\n\n  ```text\n  \tx\ty\n\n\n  z\n  ```\n")
    assert code_of(markup) == "\tx\ty\n\n\nz\n"


@pytest.mark.parametrize("header", ["yaml title=values.yaml", "text (shortened)", "{.python}", ""])
def test_code_is_code_whatever_its_first_line_says(header: str) -> None:
    assert code_of(render(f"```{header}\na\n```\n")) == "a\n"


def test_code_may_hold_a_fence() -> None:
    assert code_of(render("````text\n```\na\n```\n````\n")) == "```\na\n```\n"


@pytest.mark.parametrize("cell", [r"`a \| b`", r"a \| b", "`a | b`"])
def test_a_cell_may_hold_a_pipe(cell: str) -> None:
    markup = render(f"| sign | because |\n| --- | --- |\n| {cell} | it |\n")
    assert plain_text(markup) == "Sign Because a | b it"
    assert markup.count("<td ") == 2


def test_a_line_is_never_a_block() -> None:
    for line in ("# a", "1. a", "- a", "> a", "    a", "[a]: b", "=== a", "| a |"):
        assert render_line(line) == line.strip().replace(">", "&gt;")


@pytest.fixture
def _threads_take_turns_often() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_threads_take_turns_often")
def test_threads_do_not_mix_their_texts() -> None:
    texts = [f"{n}.\n\n```text\n{n}\n```\n\n[{n}](https://example.com/{n})" for n in range(64)]
    alone = [render(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(render, texts)) == alone


def test_a_table_can_be_scrolled_by_keyboard_and_has_a_name_of_its_own() -> None:
    markup = render('| a | "b" |\n| - | - |\n| 1 | 2 |\n')
    name = "Table: A, &quot;b&quot;"
    assert f'<div class="scroll" role="region" aria-label="{name}" tabindex="0"><table>' in markup


def test_a_cell_knows_the_heading_of_its_column() -> None:
    markup = render("| sign | `why` & \\*how\\* |\n| --- | --- |\n| a | b |\n")
    assert '<td data-label="Sign">a</td>' in markup
    assert '<td data-label="why &amp; *how*">b</td>' in markup


def test_the_headings_of_a_table_begin_with_a_capital_unless_they_are_names() -> None:
    markup = render(
        "| what is seen | num_generations | `why` | nvidia-smi |\n|-|-|-|-|\n|a|b|c|d|\n"
    )
    headings = re.findall("<th>(.*?)</th>", markup)
    assert headings == ["What is seen", "num_generations", "<code>why</code>", "nvidia-smi"]
    assert 'aria-label="Table: What is seen, num_generations, why, nvidia-smi"' in markup


def test_plain_text_keeps_words_together_and_blocks_apart() -> None:
    assert plain_text("<p>un<em>told</em></p><p>words &amp; more</p>") == "untold words & more"


def code_of(markup: str) -> str:
    """Return the text of the one block of code in `markup`."""
    (block,) = re.findall("<pre[^>]*><code>(.*?)</code></pre>", markup, re.DOTALL)
    return html.unescape(re.sub("<[^>]*>", "", block))


def squeezed(markup: str) -> str:
    """Return `markup` without the line ends between its tags."""
    return markup.replace(">\n", ">").replace("\n<", "<")


def plain(text: str) -> str:
    return html.escape(text, quote=False)
