"""Celery tasks of the history. They carry an id alone, and log nothing of a log."""

from __future__ import annotations

from denpex.celery import RERUNS, app
from diagnosis.history import reruns
from diagnosis.preloaded import compiled
from diagnosis.tasks import CountedTask, send

__all__ = ["publish", "rerun", "sweep"]


def publish(entry_id: str) -> bool:
    """Tell the workers of a log to be read again; what the broker did not take, the sweep finds."""
    return send(rerun, RERUNS, entry_id)


@app.task(base=CountedTask)
def rerun(entry_id: str) -> None:
    """Read one kept log again with the catalogue of this worker."""
    reruns.read_again(entry_id, compiled())


@app.task(base=CountedTask)
def sweep() -> None:
    """Read again what a new catalogue may know, and tell owners what it did."""
    fingerprint = compiled().fingerprint
    for entry_id in reruns.due(fingerprint):
        if not publish(entry_id):
            break
    reruns.tell_owners(fingerprint)
