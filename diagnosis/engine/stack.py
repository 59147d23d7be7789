"""The software that a run stood on, as far as the log tells: versions and the launcher."""

from __future__ import annotations

from diagnosis.engine.log import Log
from diagnosis.engine.matches import capture
from diagnosis.engine.probes import STACK

__all__ = ["read_stack"]


def read_stack(log: Log) -> dict[str, str]:
    """Return the parts of the stack that the log tells: the first value of each part."""
    found: dict[str, str] = {}
    for probe in STACK:
        if probe.part in found:
            continue
        line = log.first_with(probe.pattern)
        if line is None:
            continue
        if probe.value is not None:
            found[probe.part] = probe.value
        elif value := capture(probe.captures, log.around(line, line.hit)).get("value"):
            found[probe.part] = value
    return found
