"""What the engine returns: plain frozen dataclasses, and their one JSON shape.

The shape is laid down in `verdict.schema.json` (JSON Schema 2020-12); the command line, the API and
the pages all read it from here.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "CONFIDENCES",
    "EVIDENCE_CHARACTERS",
    "EVIDENCE_LINES",
    "FATES",
    "HYPOTHESES",
    "OUTCOMES",
    "RANK_BASES",
    "SCHEMA",
    "SCHEMA_FILE",
    "Consequence",
    "Coverage",
    "EngineStamp",
    "Evidence",
    "FailureLink",
    "FilledFix",
    "Hypothesis",
    "Primary",
    "RankFate",
    "Recovered",
    "Verdict",
]

SCHEMA = "denpex.verdict/1"
SCHEMA_FILE = Path(__file__).with_name("verdict.schema.json")

OUTCOMES = ("established", "probable", "symptom_only", "unrecognised", "no_failure", "unreadable")
CONFIDENCES = ("high", "medium", "low")
RANK_BASES = ("printed", "derived", "eliminated")
FATES = (
    "initiated",
    "aborted_by_peer",
    "torn_down",
    "stalled_waiting",
    "finished",
    "not_in_this_log",
)
EVIDENCE_LINES = 5
EVIDENCE_CHARACTERS = 400
HYPOTHESES = 3


@dataclass(frozen=True, slots=True)
class FailureLink:
    """A failure of the catalogue as a verdict names it; `url` is the path of its page."""

    slug: str
    title: str
    category: str
    severity: str
    url: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that proves the verdict; `line` counts from 1 in the file as pasted."""

    file: str
    line: int
    rank: int | None
    text: str
    role: str


@dataclass(frozen=True, slots=True)
class Primary:
    """What failed first. `failure` is None where no signature knows it."""

    failure: FailureLink | None
    summary: str
    rank: int | None
    local_rank: int | None
    rank_basis: str | None
    host: str | None
    time: str | None
    confidence: str
    why: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class FilledFix:
    """The failure's fix with the log's own values filled in where that is safe.

    `expect` is what `verify` shows once the fix holds.
    """

    summary: str
    command: str | None
    verify: str | None
    infra: str | None
    expect: str | None = None


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A failure that the log allows and does not prove, and what would decide."""

    failure: str
    for_: str
    against: str
    collect_next: str


@dataclass(frozen=True, slots=True)
class Consequence:
    """A failure that stands in the log because of another one."""

    failure: str
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    count: int
    file: str
    first_line: int
    explained_by: str | None


@dataclass(frozen=True, slots=True)
class Recovered:
    """A fault that the run survived: a retry that succeeded, a step that was skipped."""

    failure: str
    ranks: tuple[int, ...]
    first_line: int
    recovered_by_line: int


@dataclass(frozen=True, slots=True)
class RankFate:
    """What became of one rank; line numbers count from 1, times are as printed.

    `last_collective` is the number, within one process group, of the last one that it entered.
    """

    rank: int
    local_rank: int | None
    host: str | None
    file: str | None
    fate: str
    first_line: int | None
    last_line: int | None
    first_time: str | None
    last_time: str | None
    last_collective: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the run the log shows.

    `cut` says that the text ends or begins in mid-record; `clock_skew` gives seconds by host.
    """

    lines: int
    bytes: int
    ranks_seen: int
    world_size: int | None
    cut: bool
    clock_skew: dict[str, float] | None


@dataclass(frozen=True, slots=True)
class EngineStamp:
    """Which engine and catalogue spoke: equal input and fingerprint give equal bytes."""

    version: str
    fingerprint: str
    signatures: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The whole answer for one log."""

    outcome: str
    primary: Primary | None
    fix: FilledFix | None
    hypotheses: tuple[Hypothesis, ...]
    consequences: tuple[Consequence, ...]
    recovered: tuple[Recovered, ...]
    ranks: tuple[RankFate, ...]
    coverage: Coverage
    stack: dict[str, str]
    engine: EngineStamp

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict in the shape of `verdict.schema.json`, ready for `json.dumps`."""
        body = dataclasses.asdict(self)
        for hypothesis in body["hypotheses"]:
            hypothesis["for"] = hypothesis.pop("for_")
        return {"schema": SCHEMA, **body}

    def as_json(self) -> str:
        """Return the verdict as JSON text: equal verdicts give equal bytes."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, sort_keys=True)
