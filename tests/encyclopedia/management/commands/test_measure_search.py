"""The measurement of the search prints what it found."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from encyclopedia.catalogue import Catalogue
from encyclopedia.management.commands import measure_search

CASES = Path(__file__).parents[3] / "cases"


@pytest.mark.usefixtures("failures", "_asks_the_small_engine")
def test_it_prints_how_often_the_right_page_comes_first_and_how_fast(
    small_catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure_search, "load", lambda: small_catalogue)
    output = StringIO()
    call_command("measure_search", stdout=output)
    assert re.fullmatch(
        r"matches of the catalogue: right page first (\d+)/\1 \(100\.0%\), whole answer"
        r" p50 \d+\.\d ms, p95 \d+\.\d ms, slowest \d+\.\d ms\n",
        output.getvalue(),
    )


def test_only_cases_whose_failure_has_a_page_are_asked_for(small_catalogue: Catalogue) -> None:
    assert list(measure_search.questions_of_cases(CASES, small_catalogue)) == []
