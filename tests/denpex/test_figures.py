"""The published figures are those that were measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from django.test import Client

from denpex import figures
from denpex.evaluation import read_cases

PROJECT = Path(__file__).parent.parent.parent


def readme_table() -> dict[str, list[str]]:
    text = (PROJECT / "README.md").read_text()
    table = re.search(r"<!-- figures: .*? -->\n(.*?)\n<!-- /figures -->", text, re.DOTALL)
    assert table
    lines = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in table[1].split("\n")
    ]
    header, _rule, *rows = lines
    return {"": header, **{row[0]: row[1:] for row in rows}}


def test_the_site_and_the_readme_publish_the_same_figures() -> None:
    readme = readme_table()
    keys = [column.key for column in figures.columns()]
    assert [name for name in readme[""] if name not in {"", "cases"}] == keys
    stored = json.loads(figures.FIGURES.read_text())
    assert stored.keys() == readme.keys() - {""}
    for group, row in stored.items():
        cells = [str(row["cases"])]
        for key in keys:
            value = row[key]
            cells.append(f"{value[0]}/{value[1]}" if isinstance(value, list) else str(value))
        assert cells == readme[group], group


def test_they_were_measured_on_the_cases_that_are_there() -> None:
    assert figures.summary().cases == len(read_cases(PROJECT / "tests" / "cases"))


def test_the_summary_adds_up() -> None:
    found = figures.summary()
    assert found.failed + found.healthy == found.cases
    assert found.right <= found.failed
    assert found.left_alone <= found.healthy


def test_kinds_and_difficulties_each_hold_every_log_and_every_figure() -> None:
    assert [group.name for group in figures.groups()] == ["Kind", "Difficulty"]
    for group in figures.groups():
        assert len({row.name for row in group.rows}) == len(group.rows)
        assert sum(row.cases for row in group.rows) == figures.overall().cases
        for row in (figures.overall(), *group.rows):
            assert [column for column, _cell in row.cells] == list(figures.columns())


@pytest.mark.django_db
def test_the_page_shows_each_figure_with_its_meaning(client: Client) -> None:
    page = client.get("/accuracy/").content.decode()
    found = figures.summary()
    assert f"in {found.right} of {found.failed}" in page
    for column, cell in figures.overall().cells:
        name = f'<th scope="row">{column.name}</th>'
        assert f"{name}<td>{cell}</td><td>{column.meaning}</td>" in page
    hardest = figures.groups()[-1].rows[-1]
    assert f'<td data-label="First">{hardest.cells[0][1]}</td>' in page


@pytest.mark.django_db
def test_the_home_page_says_how_often_it_is_right(client: Client) -> None:
    page = client.get("/").content.decode()
    found = figures.summary()
    assert f"On {found.cases} logs with known truth" in page
    assert '<a href="/accuracy/">' in page


@pytest.mark.parametrize(
    ("wrong", "words"),
    [(0, "of 9; no verdict named"), (1, "of 9; 1 verdict named"), (2, "of 9; 2 verdicts named")],
)
def test_no_number_stands_after_the_end_of_another(wrong: int, words: str) -> None:
    """As in: 221 of 221. 0 verdicts."""
    summary = figures.Summary(
        cases=10, right=9 - wrong, failed=9, wrong=wrong, left_alone=1, healthy=1
    )
    assert words in render_to_string("_accuracy.html", {"figures": summary})
