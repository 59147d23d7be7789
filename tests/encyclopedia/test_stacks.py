"""Headings in a row are variants, one for each stack."""

from __future__ import annotations

from encyclopedia.rendering import render
from encyclopedia.stacks import with_stacks

FIX = """\
First stop the job.

### Move it

#### Kubernetes

Mount a volume.

#### Slurm

Ask for a disk.

### Then check

#### Alone

It stays as it is.
"""


def test_headings_in_a_row_become_one_group() -> None:
    markup = with_stacks(render(FIX), "Fix")
    group = markup[markup.index('<div class="stacks">') : markup.index("</div>")]
    assert group.count('<section class="stack"><h4>') == 2
    assert "Mount a volume." in group
    assert "Ask for a disk." in group
    assert "Then check" not in group
    assert markup.count('<div class="stacks">') == 1


def test_stacks_right_under_the_section_are_a_level_below_its_heading() -> None:
    fix = FIX.replace("### Move it\n\n", "")
    markup = with_stacks(render(fix), "Fix")
    assert markup.count('<section class="stack"><h3>') == 2
    assert "<h3>Then check</h3>" in markup
    assert markup.index("<h4>Alone</h4>") > markup.index("<h3>Then check</h3>")


def test_one_heading_alone_is_no_choice() -> None:
    markup = with_stacks(render(FIX), "Fix")
    assert markup.endswith("<h4>Alone</h4>\n<p>It stays as it is.</p>")


def test_in_code_the_headings_are_those_of_the_section_itself() -> None:
    code = "### PyTorch\n\nOne.\n\n### JAX\n\nTwo.\n"
    assert with_stacks(render(code), "Code").startswith(
        '<div class="stacks"><section class="stack"><h3>PyTorch</h3>'
    )
    assert "stacks" not in with_stacks(render(code), "Fix")


def test_a_section_without_headings_stays_as_it_is() -> None:
    markup = render("Plain words, and `code`.")
    assert with_stacks(markup, "Fix") == markup


def test_two_groups_in_one_section_are_two_choices() -> None:
    markup = with_stacks(render(FIX + "\n#### Another\n\nMore.\n"), "Fix")
    assert markup.count('<div class="stacks">') == 2


def test_no_word_is_lost() -> None:
    markup = render(FIX)
    marks = (
        '<div class="stacks">',
        "</div>",
        '<section class="stack">',
        "</section>",
    )
    grouped = with_stacks(markup, "Fix")
    for mark in marks:
        grouped = grouped.replace(mark, "")
    assert grouped == markup
