"""Every open case, changed in ways that may not change what is told of it."""

from collections import Counter

import pytest

from diagnosis.engine import diagnose
from tests.diagnosis.engine.metamorphic import (
    LOSSLESS,
    LOSSY,
    Sample,
    compared,
    told,
    variant,
)

LARGEST_CAREFUL_SHARE = 0.2


@pytest.mark.parametrize("name", LOSSLESS)
def test_what_loses_nothing_changes_nothing(name: str, samples: list[Sample]) -> None:
    changed = []
    tried = 0
    for sample in samples:
        files = variant(name, LOSSLESS[name], sample)
        if files is None:
            continue
        tried += 1
        before, after = told(sample.verdict), told(diagnose(files, sample.compiled))
        if before != after:
            changed.append((sample.case.id, before, after))
    assert tried
    assert changed == []


@pytest.mark.parametrize("name", LOSSY)
def test_what_loses_something_makes_careful_at_most(name: str, samples: list[Sample]) -> None:
    found: Counter[str] = Counter()
    others = []
    for sample in samples:
        files = variant(name, LOSSY[name], sample)
        if files is None:
            continue
        kind, verdict = compared(sample, files)
        found[kind] += 1
        if kind == "other":
            others.append((sample.case.id, told(sample.verdict), told(verdict)))
    assert found.total()
    assert others == []
    assert found["careful"] <= LARGEST_CAREFUL_SHARE * found.total(), found
