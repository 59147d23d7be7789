"""The pages of a masked log: a part of it with line numbers, more lines on demand, and a search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from diagnosis.answers import Answer
from diagnosis.excerpts import MOST_LINES, Excerpts
from diagnosis.gutter import marked_lines, stand_for
from diagnosis.log_reader import LogReader
from diagnosis.log_search import MOST_HITS, lines_holding, search
from diagnosis.presentation import LogLinks
from diagnosis.store import KeptFile
from diagnosis.views import find, gone, private

__all__ = ["log_lines", "log_page", "log_search"]

_LINES_A_PAGE = 1000
_CHARACTERS = 2000
# In percent of the strip beside a page of the log: 24 pixels of four fifths of a phone's window.
_GUTTER_APART = 5.0
_MOST_WORDS = 200
# Marks in the strip beside a page; more of them would be one block.
_MOST_FOUND = 100
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_RUN = re.compile(r"([1-9]\d{0,8})-([1-9]\d{0,8})")


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a file that one page shows, and those of the pages around it."""

    numbers: range
    before: range
    after: range
    last_page: range


@private
@require_safe
def log_page(request: HttpRequest, job_id: str, number: int) -> HttpResponseBase:
    """Show a part of one file: that with the line asked for, or with the first of a run of them."""
    answer = find(request, job_id)
    file = _file(answer, number)
    if not isinstance(answer, Answer) or file is None:
        return gone(request, job_id)
    verdict = answer.shown_verdict
    reader = _reader(answer)
    chosen = _chosen(request)
    part = _part(file, chosen.start)
    links = LogLinks(answer.id, reader.names, frozenset((file.name, n) for n in part.numbers))
    words = request.GET.get("q", "")[:_MOST_WORDS]
    found = lines_holding(reader, file.name, words, _MOST_FOUND)
    marks = dict.fromkeys(found, "found") | marked_lines(verdict, file.name)
    marked = dict(sorted(marks.items()))
    excerpts = Excerpts(reader, _evidence(verdict))
    ctx = {
        "answer": answer,
        "file": file,
        "number": number,
        "part": part,
        "lines": excerpts.rows(file.name, part.numbers, chosen, _CHARACTERS),
        "gutter": stand_for(file, marked, [part.numbers], links.to, _GUTTER_APART),
        "characters": _CHARACTERS,
        "words": words,
    }
    return render(request, "diagnosis/log_page.html", ctx)


@private
@require_safe
def log_lines(request: HttpRequest, job_id: str, number: int) -> HttpResponseBase:
    """Return what a gap between lines of the verdict page becomes when a part of it is opened."""
    answer = find(request, job_id)
    file = _file(answer, number)
    gap, part = _run(request.GET.get("gap", "")), _run(request.GET.get("part", ""))
    is_part = bool(part) and gap.start <= part.start and part.stop <= gap.stop
    if not isinstance(answer, Answer) or file is None or not is_part or len(part) > MOST_LINES:
        return gone(request, job_id)
    excerpts = Excerpts(_reader(answer), _evidence(answer.shown_verdict))
    ctx = {
        "answer": answer,
        "number": number,
        "pieces": excerpts.opened(file.name, gap, part),
        "words": "",
    }
    return render(request, "diagnosis/log_lines.html", ctx)


@private
@require_safe
def log_search(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """Show the lines of all files that hold some words."""
    answer = find(request, job_id)
    if not isinstance(answer, Answer):
        return gone(request, job_id)
    words = request.GET.get("q", "").strip()[:_MOST_WORDS]
    found = search(_reader(answer), words)
    ctx = {
        "answer": answer,
        "words": words,
        "found": found,
        "count": sum(each.count for each in found),
        "most": MOST_HITS,
        "links": LogLinks(answer.id, tuple(file.name for file in answer.about.files)),
    }
    return render(request, "diagnosis/log_search.html", ctx)


def _file(answer: object, number: int) -> KeptFile | None:
    """Return a file of the answer, counted from 1; None where there is none."""
    if not isinstance(answer, Answer) or not 0 < number <= len(answer.about.files):
        return None
    return answer.about.files[number - 1]


def _reader(answer: Answer) -> LogReader:
    return LogReader([file.name for file in answer.about.files], answer.read_file)


def _evidence(verdict: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    evidence: Sequence[Mapping[str, Any]] = (verdict["primary"] or {}).get("evidence", ())
    return evidence


def _part(file: KeptFile, line: int) -> Part:
    """Return the page that holds a line, or the last one where the file ends before that."""
    last = max(file.lines, 1)
    first = (min(max(line, 1), last) - 1) // _LINES_A_PAGE * _LINES_A_PAGE + 1
    numbers = range(first, min(first + _LINES_A_PAGE, last + 1))
    return Part(
        numbers=numbers,
        before=range(max(first - _LINES_A_PAGE, 1), first),
        after=range(numbers.stop, min(numbers.stop + _LINES_A_PAGE, last + 1)),
        last_page=range((last - 1) // _LINES_A_PAGE * _LINES_A_PAGE + 1, last + 1),
    )


def _chosen(request: HttpRequest) -> range:
    """Return the lines that the address asks for: `?line=7`, or `?lines=7-9`."""
    line = request.GET.get("line", "").strip()
    if _NUMBER.fullmatch(line):
        return range(int(line), int(line) + 1)
    return _run(request.GET.get("lines", ""))


def _run(text: str) -> range:
    """Read "7-9" as the lines 7 to 9; an empty range where it says something else."""
    found = _RUN.fullmatch(text)
    if found is None:
        return range(0)
    first, last = sorted(map(int, found.groups()))
    return range(first, last + 1)
