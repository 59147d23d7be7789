"""`denpex eval`: score verdicts on a folder of cases with known truth.

What each figure means stands in the README of the cases; the names here are the names there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diagnosis.engine import Compiled, LogFile, Verdict, diagnose, load_compiled
from encyclopedia.catalogue import Catalogue

__all__ = [
    "Case",
    "CasesError",
    "Score",
    "evaluate",
    "figures",
    "groups",
    "print_scores",
    "read_cases",
    "score",
    "write_figures",
]

_DECIDED_OUTCOMES = ("established", "probable")
_DIFFICULTIES = ("easy", "medium", "hard")


class CasesError(Exception):
    """A folder that holds no cases, or a case that cannot be read; the message says which."""


@dataclass(frozen=True, slots=True)
class Case:
    """A log and what is true of it."""

    id: str
    log: bytes
    truth: dict[str, Any]

    @property
    def is_negative(self) -> bool:
        """Say whether nothing failed in this log."""
        return self.truth["primary"] is None

    @property
    def right(self) -> frozenset[str]:
        """The slugs that count as right."""
        return frozenset({self.truth["primary"], *self.truth["accept"]} - {None})


@dataclass(frozen=True, slots=True)
class Score:
    """How the verdict on one case compares with the truth; None where a figure does not apply."""

    case: Case
    outcome: str
    confidence: str | None
    slug: str | None
    rank: int | None
    top1: bool | None
    top3: bool | None
    decided: bool | None
    rank_right: bool | None
    rank_invented: bool
    wrong: bool
    wrong_high: bool
    collateral_first: bool
    negative_right: bool | None
    evidence: bool | None
    fix: bool | None


def read_cases(folder: Path) -> list[Case]:
    """Read every `<id>/log.txt` with its `truth.json` below `folder`, by id.

    Raises CasesError where there is none or one is damaged.
    """
    cases = []
    for path in sorted(folder.glob("*/truth.json")):
        try:
            truth = json.loads(path.read_text(encoding="utf-8"))
            cases.append(Case(path.parent.name, path.with_name("log.txt").read_bytes(), truth))
        except (OSError, ValueError) as error:
            raise CasesError(f"{path}: {error}") from error
    if not cases:
        raise CasesError(
            f"{folder}: no cases here (a case is a folder with log.txt and truth.json)"
        )
    return cases


def evaluate(cases: Iterable[Case], compiled: Compiled | None = None) -> list[Score]:
    """Diagnose each case and score the verdict."""
    engine = compiled or load_compiled()
    return [
        score(case, diagnose([LogFile("log.txt", case.log)], engine), engine.catalogue)
        for case in cases
    ]


def score(case: Case, verdict: Verdict, catalogue: Catalogue) -> Score:
    """Compare one verdict with the truth of its case."""
    primary = verdict.primary
    slug = primary.failure.slug if primary and primary.failure else None
    hypotheses = [each.failure for each in verdict.hypotheses[:2]]
    top1 = slug in case.right
    stated = verdict.outcome in _DECIDED_OUTCOMES
    confidence = primary.confidence if primary else None
    positive = not case.is_negative
    sure = stated and top1 and confidence in ("high", "medium")
    wrong = stated and not top1
    return Score(
        case=case,
        outcome=verdict.outcome,
        confidence=confidence,
        slug=slug,
        rank=primary.rank if primary else None,
        top1=top1 if positive else None,
        top3=(top1 or bool(case.right.intersection(hypotheses))) if positive else None,
        decided=sure if _counts_as_cause(case, catalogue) else None,
        rank_right=_rank_right(case, verdict),
        rank_invented=_rank_invented(case, verdict),
        wrong=wrong,
        wrong_high=wrong and confidence == "high",
        collateral_first=slug in case.truth["collateral"],
        negative_right=None if positive else verdict.outcome == "no_failure",
        evidence=_evidence(case, verdict) if positive else None,
        fix=_fix(case, verdict) if positive else None,
    )


def _counts_as_cause(case: Case, catalogue: Catalogue) -> bool:
    """Say whether the truth is a cause; a failure that the catalogue lacks counts as one."""
    failure = catalogue.failures.get(case.truth["primary"])
    return not case.is_negative and (failure is None or failure.role == "cause")


def _rank_right(case: Case, verdict: Verdict) -> bool | None:
    wanted = case.truth["initiating_rank"]
    if wanted is None:
        return None
    return verdict.primary is not None and verdict.primary.rank == wanted


def _rank_invented(case: Case, verdict: Verdict) -> bool:
    primary = verdict.primary
    if case.truth["initiating_rank"] is not None or primary is None or primary.rank is None:
        return False
    return all(each.rank != primary.rank for each in primary.evidence)


def _evidence(case: Case, verdict: Verdict) -> bool:
    lines = [each.text for each in verdict.primary.evidence] if verdict.primary else []
    return any(
        wanted in line or (line and line in wanted)
        for wanted in case.truth["evidence"]
        for line in lines
    )


def _fix(case: Case, verdict: Verdict) -> bool:
    if verdict.fix is None:
        return False
    text = f"{verdict.fix.summary} {verdict.fix.command or ''}".lower()
    return any(term in text for term in case.truth["fix_mentions"])


# Name of the figure → what it is read from; None does not count.
_RATES: dict[str, Callable[[Score], bool | None]] = {
    "top-1": lambda score: score.top1,
    "top-3": lambda score: score.top3,
    "decided": lambda score: score.decided,
    "rank": lambda score: score.rank_right,
    "negatives": lambda score: score.negative_right,
    "evidence": lambda score: score.evidence,
    "fix": lambda score: score.fix,
}
# What makes a case a miss; evidence and fix are counted, and not listed.
_LISTED = ("top-1", "top-3", "decided", "rank", "negatives")
_COUNTS: dict[str, Callable[[Score], bool]] = {
    "invented": lambda score: score.rank_invented,
    "wrong": lambda score: score.wrong,
    "wrong high": lambda score: score.wrong_high,
    "collateral": lambda score: score.collateral_first,
}


def figures(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the figures of a group: `[right, of]` for rates, a number for counts."""
    rates = {
        name: [sum(map(bool, told)), len(told)]
        for name, read in _RATES.items()
        for told in [[value for value in map(read, scores) if value is not None]]
    }
    return {"cases": len(scores), **rates, **{k: sum(map(f, scores)) for k, f in _COUNTS.items()}}


def groups(scores: Sequence[Score]) -> dict[str, list[Score]]:
    """Return the scores by family, by difficulty, and all."""
    found: dict[str, list[Score]] = {}
    for score_ in scores:
        found.setdefault(score_.case.truth["family"], []).append(score_)
    ordered = dict(sorted(found.items()))
    for difficulty in _DIFFICULTIES:
        ordered[difficulty] = [s for s in scores if s.case.truth["difficulty"] == difficulty]
    return {**ordered, "all": list(scores)}


def print_scores(scores: Sequence[Score], *, as_json: bool = False) -> None:
    """Print the misses, then the figures by family, by difficulty and over all."""
    table = {name: figures(group) for name, group in groups(scores).items()}
    if as_json:
        print(json.dumps({"figures": table, "misses": [_miss(s) for s in scores if _missed(s)]}))
        return
    for score_ in scores:
        if _missed(score_):
            print(_miss(score_)["words"])
    print()
    names = ["cases", *_RATES, *_COUNTS]
    print(f"{'':14}" + "".join(f"{name:>12}" for name in names))
    for group, row in table.items():
        print(f"{group:14}" + "".join(f"{_cell(row[name]):>12}" for name in names))


def write_figures(scores: Sequence[Score], path: Path) -> None:
    """Put the figures into a file: as JSON, or as a Markdown table between its markers.

    Raises CasesError where a Markdown file has no such markers.
    """
    if path.suffix == ".json":
        table = {name: figures(group) for name, group in groups(scores).items()}
        lines = (f' "{name}": {json.dumps(row)}' for name, row in table.items())
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        return
    head, start, rest = path.read_text(encoding="utf-8").partition(_TABLE_START)
    _old, end, tail = rest.partition(_TABLE_END)
    if not start or not end:
        raise CasesError(f"{path}: no line {_TABLE_START!r} with {_TABLE_END!r} below it")
    markdown = "\n".join(_markdown(scores))
    path.write_text(f"{head}{start}\n{markdown}\n{end}{tail}", encoding="utf-8")


_TABLE_START = "<!-- figures: denpex eval tests/cases -->"
_TABLE_END = "<!-- /figures -->"


def _markdown(scores: Sequence[Score]) -> Iterator[str]:
    names = ["cases", *_RATES, *_COUNTS]
    yield "| | " + " | ".join(names) + " |"
    yield "| --- |" + " ---: |" * len(names)
    for group, members in groups(scores).items():
        row = figures(members)
        yield f"| {group} | " + " | ".join(_cell(row[name]) for name in names) + " |"


def _cell(value: object) -> str:
    return f"{value[0]}/{value[1]}" if isinstance(value, list) else str(value)


def _missed(score_: Score) -> bool:
    return (
        any(_RATES[name](score_) is False for name in _LISTED)
        or score_.rank_invented
        or score_.wrong
    )


def _miss(score_: Score) -> dict[str, str]:
    truth = score_.case.truth
    faults = [
        *(name for name, read in _RATES.items() if name in _LISTED and read(score_) is False),
        *(name for name, read in _COUNTS.items() if read(score_)),
    ]
    words = (
        f"{score_.case.id}: {', '.join(faults)}; said {score_.outcome} {score_.slug}"
        f" rank {score_.rank} ({score_.confidence}); is {truth['primary']}"
        f" rank {truth['initiating_rank']} [{truth['difficulty']}]"
    )
    return {"case": score_.case.id, "words": words}
