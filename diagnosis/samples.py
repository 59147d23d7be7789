"""Logs to try the site with: real runs, answered by the real engine, at no cost to an allowance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SAMPLES", "Sample"]

_FOLDER = Path(__file__).with_name("samples")


@dataclass(frozen=True, slots=True)
class Sample:
    """A log of `samples/`; `id` stands in the address of its verdict, `label` on its button."""

    id: str
    label: str
    file: str

    def read(self) -> bytes:
        """Return the log as it was printed."""
        return (_FOLDER / self.file).read_bytes()


SAMPLES: Mapping[str, Sample] = {
    sample.id: sample
    for sample in (
        Sample("sample-killed-rank", "One rank of 8 killed", "killed-rank-of-eight.txt"),
        Sample("sample-disk-full", "Disk full at a checkpoint", "disk-full-at-checkpoint.txt"),
        Sample("sample-evicted-pod", "Pod evicted mid-download", "evicted-pod.txt"),
    )
}
