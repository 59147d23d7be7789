"""Template filters for the texts of a failure's page."""

from __future__ import annotations

from encyclopedia.rendering import plain_text
from encyclopedia.templatetags.page_text import (
    command_lines,
    fix_line,
    has_placeholders,
    markdown_line,
)


def test_a_line_of_markdown_is_rendered_without_a_paragraph() -> None:
    assert markdown_line("Set `HF_HOME` on <node>.") == "Set <code>HF_HOME</code> on &lt;node&gt;."


def test_what_only_a_log_tells_is_set_as_code_in_a_fix() -> None:
    line = fix_line("Reset the card at <pci>, as `ssh <host> true` shows.")
    assert "<code>&lt;pci&gt;</code>" in line
    assert "<code>ssh &lt;host&gt; true</code>" in line


def test_names_that_are_surely_code_are_set_as_code_in_a_fix() -> None:
    line = fix_line("Return it from __getitem__, or pass --port=<port> and --offline.")
    assert line == (
        "Return it from <code>__getitem__</code>, or pass --port=<code>&lt;port&gt;</code>"
        " and <code>--offline</code>."
    )


def test_open_words_of_a_fix_or_its_commands_are_noticed() -> None:
    assert has_placeholders({"summary": "Reset it.", "command": "nvidia-smi -i <pci>"})
    assert not has_placeholders({"summary": "Reset it.", "told": "It is <pci>.", "verify": None})


def test_each_line_of_a_command_is_marked_with_its_words_kept_whole() -> None:
    assert command_lines("cd /x\nrm --force a") == (
        '<span class="line">cd /x\n</span>'
        '<span class="line">rm <span class="word">--force</span> a</span>'
    )


def test_a_command_stays_what_it_was() -> None:
    command = "kubectl exec 'deploy/<x>' -- df -h /model-cache && echo \"a-b\" > c-d"
    assert plain_text(command_lines(command)) == command


def test_a_command_cannot_bring_html() -> None:
    assert "<script" not in command_lines("x-<script>alert(1)</script>-y")
