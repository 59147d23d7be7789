"""A verdict with everything its page shows, from a job or from a sample."""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from diagnosis import store
from diagnosis.discretion import quoting_nothing
from diagnosis.engine import LogFile, diagnose
from diagnosis.engine.masking import mask
from diagnosis.models import Job
from diagnosis.preloaded import compiled
from diagnosis.samples import Sample
from diagnosis.visible import visible_throughout

__all__ = ["Answer", "of_job", "of_sample"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict as JSON text, and its masked log. `read_file` takes a number, counted from 0.

    `asked_about` is the slug of the failure whose page the paste came from, or "". `owned` says
    that an account alone may read it, `shared` that its owner gave a link to it.
    """

    id: str
    json: str
    about: store.KeptLog
    read_file: Callable[[int], bytes | None]
    asked_about: str = ""
    expires_at: dt.datetime | None = None
    sample: Sample | None = None
    owned: bool = False
    shared: bool = False

    def file(self, number: int) -> store.KeptFile | None:
        """Return what is known of a file of the log, counted from 1; None where there is none."""
        return self.about.files[number - 1] if 0 < number <= len(self.about.files) else None

    @property
    def verdict(self) -> dict[str, Any]:
        """The verdict in the shape of `verdict.schema.json`."""
        verdict: dict[str, Any] = json.loads(self.json)
        return verdict

    @property
    def shown_verdict(self) -> dict[str, Any]:
        """The verdict with its text made visible; where none is known, no line is a cause."""
        verdict: dict[str, Any] = visible_throughout(self.verdict)
        if verdict["outcome"] == "unrecognised":
            for each in (verdict["primary"] or {}).get("evidence", ()):
                each["role"] = "sign" if each["role"] == "cause" else each["role"]
        return verdict


def of_job(job: Job) -> Answer | None:
    """Return the answer to a job that is done; None where the store holds it no longer."""
    verdict, about = store.read_verdict(job.pk), store.about_log(job.pk)
    if verdict is None or about is None:
        return None
    # A page of a thousand files asks the store once.
    read_log = functools.cache(lambda: store.read_log(job.pk) or ())

    def read_file(number: int) -> bytes | None:
        logs = read_log()
        return bytes(logs[number].data) if number < len(logs) else None

    return Answer(
        id=job.pk,
        json=verdict,
        about=about,
        read_file=read_file,
        asked_about=job.asked_about,
        expires_at=job.expires_at,
        owned=job.account_id is not None,
    )


@functools.cache
def of_sample(sample: Sample) -> Answer:
    """Return the answer to a sample; the engine makes it once a process."""
    with quoting_nothing():
        masked = mask([LogFile(sample.file, sample.read())])
        verdict = diagnose(masked.logs, compiled())
    return Answer(
        id=sample.id,
        json=verdict.as_json(),
        about=store.describe(masked),
        read_file=lambda number: (
            bytes(masked.logs[number].data) if number < len(masked.logs) else None
        ),
        sample=sample,
    )
