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
from diagnosis.views import find, no_such_file, not_there, private
from diagnosis.visible import visible

__all__ = ["log_lines", "log_page", "log_search"]

_LINES_A_PAGE = 1000
_CHARACTERS = 2000
# In percent of the strip beside a page of the log: 24 pixels of four fifths of a phone's window.
_GUTTER_APART = 5.0
_MOST_WORDS = 200
_LONGEST_ASKED = 40
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
    file = answer.file(number) if isinstance(answer, Answer) else None
    if not isinstance(answer, Answer) or file is None:
        return no_such_file(request, job_id, answer, number)
    verdict = answer.shown_verdict
    reader = _reader(answer)
    asked = _asked(request)
    chosen = _chosen(asked)
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
        "objection": _objection(asked, chosen, file),
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
    file = answer.file(number) if isinstance(answer, Answer) else None
    if not isinstance(answer, Answer) or file is None:
        return no_such_file(request, job_id, answer, number)
    gap, part = _run(request.GET.get("gap", "")), _run(request.GET.get("part", ""))
    if not _is_part(part, gap, file):
        what = "The address names no lines that open here"
        why = f"A gap of the verdict page opens by up to {MOST_LINES:,} lines that the file has."
        return not_there(request, job_id, answer, what, why)
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
        return not_there(request, job_id, answer, "", "")
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


def _asked(request: HttpRequest) -> str:
    """Return the lines that the address asks for: `?line=7`, or `?lines=7-9`; "" where none."""
    return request.GET.get("line", "").strip() or request.GET.get("lines", "").strip()


def _chosen(asked: str) -> range:
    """Read "7" or "7-9" as lines; an empty range where it says something else."""
    if _NUMBER.fullmatch(asked):
        return range(int(asked), int(asked) + 1)
    return _run(asked)


def _objection(asked: str, chosen: range, file: KeptFile) -> str:
    """Say which of the lines asked for the file does not have; "" where it has them all."""
    if not asked or (chosen and chosen.stop - 1 <= file.lines):
        return ""
    named = visible(asked if len(asked) <= _LONGEST_ASKED else f"{asked[:_LONGEST_ASKED]}…")
    if not chosen:
        return f"“{named}” is no line number: the file's beginning is shown."
    if chosen.start <= file.lines:
        return f"Of the lines {named} the file has those up to line {file.lines}."
    none_of = "is no line" if len(chosen) == 1 else "are no lines"
    return f"There {none_of} {named}: the file's end is shown."


def _is_part(part: range, gap: range, file: KeptFile) -> bool:
    """Say whether a run of lines of the file lies in a gap and is short enough to open."""
    return (
        0 < len(part) <= MOST_LINES
        and gap.start <= part.start
        and part.stop <= gap.stop <= file.lines + 1
    )


def _run(text: str) -> range:
    """Read "7-9" as the lines 7 to 9; an empty range where it says something else."""
    found = _RUN.fullmatch(text)
    if found is None:
        return range(0)
    first, last = sorted(map(int, found.groups()))
    return range(first, last + 1)
