"""Everything that was found out about a log, before it is put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diagnosis.engine.causality import Judgement
from diagnosis.engine.events import Event
from diagnosis.engine.initiator import Initiator
from diagnosis.engine.log import Log
from diagnosis.engine.verdict import Coverage, RankFate
from encyclopedia.catalogue import Catalogue, Failure

__all__ = ["Findings"]


@dataclass(frozen=True, slots=True)
class Findings:
    """What happened, which rank went first, what became of each, and how much of it was seen."""

    log: Log
    judgement: Judgement
    initiator: Initiator
    fates: tuple[RankFate, ...]
    coverage: Coverage
    stack: Mapping[str, str]

    @property
    def catalogue(self) -> Catalogue:
        """Return the failures that the log was read with."""
        return self.log.compiled.catalogue

    def failure_of(self, event: Event) -> Failure | None:
        """Return the failure of an event; None where no signature knows it."""
        return None if event.failure is None else self.catalogue.failures[event.failure]
