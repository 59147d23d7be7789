import json
from collections.abc import Callable, Sequence

import pytest

from diagnosis.engine import Compiled
from tests.diagnosis.engine.logs import verdict_on

SLUG = "python-key-error"
ERROR = (
    "Traceback (most recent call last):",
    '  File "/app/t.py", line 3, in main',
    "KeyError: 'x'",
)
PEERS = [f"RuntimeError: [rank {rank}] Connection closed by peer" for rank in (1, 2)]
SAID = [*(f"step {n} loss 2.1" for n in range(12)), *ERROR, *PEERS]


def stamped(place: int, said: str) -> str:
    return f"2026-11-30T05:{place // 60:02}:{place % 60:02}.120Z {said}"


def as_json(place: int, said: str) -> str:
    time, _, _ = stamped(place, said).partition(" ")
    return json.dumps({"timestamp": time, "labels": {"task": "0"}, "line": said})


def told(compiled: Compiled, lines: Sequence[str]) -> tuple[str | None, list[int]]:
    primary = verdict_on(compiled, *lines).primary
    assert primary is not None
    slug = primary.failure.slug if primary.failure else None
    return slug, [each.line for each in primary.evidence]


@pytest.mark.parametrize("write", [stamped, as_json])
def test_the_newest_line_first_tells_what_the_oldest_first_does(
    compiled: Compiled, write: Callable[[int, str], str]
) -> None:
    lines = [write(place, said) for place, said in enumerate(SAID)]
    slug, evidence = told(compiled, lines)
    assert slug == SLUG
    turned = [len(lines) + 1 - number for number in evidence]
    assert told(compiled, lines[::-1]) == (SLUG, turned)


def test_what_follows_a_line_without_a_time_stays_behind_it(compiled: Compiled) -> None:
    lines = [stamped(place, said) for place, said in enumerate(SAID[:12])]
    failed = [stamped(40, "trainer failed"), *ERROR]
    turned = [*failed, *lines[::-1]]
    assert told(compiled, turned) == (SLUG, [4])


def test_lines_that_several_processes_wrote_out_of_turn_stay_as_they_are(
    compiled: Compiled,
) -> None:
    places = [place + (5 if place % 2 else 0) for place in range(len(SAID))]
    lines = [stamped(place, said) for place, said in zip(places, SAID, strict=True)]
    assert told(compiled, lines)[0] == SLUG


def test_files_put_together_stay_as_they_are(compiled: Compiled) -> None:
    of_a_later_day = [stamped(place + 300, f"step {place} loss 2.0") for place in range(20)]
    lines = [stamped(place, said) for place, said in enumerate(SAID)]
    assert told(compiled, [*of_a_later_day, *lines])[0] == SLUG
