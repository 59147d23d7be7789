"""Markdown of failure files as HTML that is safe to serve."""

from __future__ import annotations

import pytest

from encyclopedia.rendering import plain_text, render, render_line


def test_it_works() -> None:
    assert render("Read **this** `code`.") == (
        "<p>Read <strong>this</strong> <code>code</code>.</p>\n"
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
    assert '<pre tabindex="0"><code>df -h\ndu -s\n</code></pre>' in markup
    assert markup.count("<li>") == 1


def test_code_is_highlighted_by_classes_and_without_a_style() -> None:
    markup = render("```python\nimport os  # why\n```\n")
    assert '<span class="k">import</span> os' in markup
    assert '<span class="c"># why</span>' in markup
    assert "style=" not in markup


def test_code_in_an_unknown_language_is_shown_as_it_is() -> None:
    assert "<code>a &lt; b\n</code>" in render("```brainwave\na < b\n```\n")


def test_prompts_and_output_are_told_from_commands() -> None:
    markup = render("```console\n$ df -h\n/dev/sda 100%\n```\n")
    assert '<span class="gp">$ </span>df -h' in markup
    assert '<span class="go">/dev/sda 100%' in markup


def test_a_table_can_be_scrolled_by_keyboard() -> None:
    markup = render("| a | b |\n| - | - |\n| 1 | 2 |\n")
    assert '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>' in markup


def test_plain_text_keeps_words_together_and_blocks_apart() -> None:
    assert plain_text("<p>un<em>told</em></p><p>words &amp; more</p>") == "untold words & more"
