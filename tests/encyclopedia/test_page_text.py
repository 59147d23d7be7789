"""Template filters for the texts of a failure's page."""

from __future__ import annotations

from encyclopedia.rendering import plain_text
from encyclopedia.templatetags.page_text import markdown_line, whole_words


def test_a_line_of_markdown_is_rendered_without_a_paragraph() -> None:
    assert markdown_line("Set `HF_HOME` on <node>.") == "Set <code>HF_HOME</code> on &lt;node&gt;."


def test_a_word_with_a_hyphen_is_kept_whole() -> None:
    assert whole_words("rm --force a") == 'rm <span class="word">--force</span> a'


def test_a_command_stays_what_it_was() -> None:
    command = "kubectl exec 'deploy/<x>' -- df -h /model-cache && echo \"a-b\" > c-d"
    assert plain_text(whole_words(command)) == command


def test_a_command_cannot_bring_html() -> None:
    assert "<script" not in whole_words("x-<script>alert(1)</script>-y")
