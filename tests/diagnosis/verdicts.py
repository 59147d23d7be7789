"""Verdicts in the shape of the engine's, as small or as odd as a test wants them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["consequence", "evidence", "fate", "recovered", "verdict"]


def fate(rank: int, fate: str = "torn_down", **fields: Any) -> dict[str, Any]:
    """Return what became of a rank, of which nothing else is known unless it is given."""
    nothing = dict.fromkeys(
        ("local_rank", "host", "file", "first_line", "last_line", "first_time", "last_time")
    )
    if "first_line" in fields:
        fields = {"file": "log.txt", "last_line": fields["first_line"]} | fields
    return {"rank": rank, "fate": fate} | nothing | fields


def evidence(line: int, rank: int | None = None, **fields: Any) -> dict[str, Any]:
    """Return a line of evidence."""
    defaults = {"file": "log.txt", "text": f"line {line}", "role": "cause"}
    return {"line": line, "rank": rank} | defaults | fields


def consequence(slug: str, first_line: int, *ranks: int, **fields: Any) -> dict[str, Any]:
    """Return a failure that only followed."""
    defaults = {"hosts": [], "count": 1, "file": "log.txt", "explained_by": None}
    return {"failure": slug, "ranks": list(ranks), "first_line": first_line} | defaults | fields


def recovered(slug: str, first_line: int, *ranks: int) -> dict[str, Any]:
    """Return a fault that the run survived."""
    return {
        "failure": slug,
        "ranks": list(ranks),
        "first_line": first_line,
        "recovered_by_line": first_line + 5,
    }


def verdict(
    ranks: Iterable[dict[str, Any]] = (),
    proofs: Iterable[dict[str, Any]] = (),
    rank: int | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a verdict with these fates and this evidence; `rank` failed first."""
    proofs = list(proofs)
    primary = {
        "failure": {
            "slug": "scratch-disk-full",
            "title": "Scratch Disk Full",
            "category": "storage",
            "severity": "high",
            "url": "/failures/scratch-disk-full/",
        },
        "summary": "Scratch Disk Full.",
        "rank": rank,
        "local_rank": None,
        "rank_basis": None if rank is None else "printed",
        "host": None,
        "time": None,
        "confidence": "high",
        "why": "Line 1 states the cause itself.",
        "evidence": proofs,
    }
    return {
        "outcome": "established",
        "primary": primary if proofs else None,
        "fix": None,
        "hypotheses": [],
        "consequences": [],
        "recovered": [],
        "ranks": list(ranks),
        "coverage": {
            "lines": 100,
            "bytes": 1000,
            "ranks_seen": 0,
            "world_size": None,
            "cut": False,
            "clock_skew": None,
        },
        "stack": {},
        "engine": {"version": "0", "fingerprint": "0", "signatures": 1},
    } | fields
