"""Runs of numbers, and ranks as people write them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["numbers_in_words", "ranks_in_words", "runs"]

# Every second of a thousand ranks would be a page of numbers.
_MOST_RUNS = 8


def runs(numbers: Sequence[int]) -> list[range]:
    """Return ordered numbers as ranges without gaps."""
    found: list[range] = []
    for number in numbers:
        if found and found[-1].stop == number:
            found[-1] = range(found[-1].start, number + 1)
        else:
            found.append(range(number, number + 1))
    return found


def numbers_in_words(numbers: Sequence[int], most_runs: int = _MOST_RUNS) -> str:
    """Return numbers as people write them, runs of them by first and last."""
    found = runs(sorted(numbers))
    if len(found) <= most_runs:
        return ", ".join(map(_run, found))
    rest = sum(map(len, found[most_runs - 1 :]))
    return f"{', '.join(map(_run, found[: most_runs - 1]))} and {rest} more"


def ranks_in_words(ranks: Sequence[int], most_runs: int = _MOST_RUNS) -> str:
    """Return "rank 3" or "ranks 0-2, 5"; "" for none."""
    noun = "rank" if len(ranks) == 1 else "ranks"
    return f"{noun} {numbers_in_words(ranks, most_runs)}" if ranks else ""


def _run(run: range) -> str:
    return str(run.start) if len(run) == 1 else f"{run.start}\N{EN DASH}{run.stop - 1}"
