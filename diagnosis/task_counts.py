"""How often each task started, was done or failed, by day."""

from __future__ import annotations

from django.db import connection

from diagnosis.visitors import today

__all__ = ["count"]

_COUNT = """
    INSERT INTO diagnosis_taskcount AS counted (day, task, event, count) VALUES (%s, %s, %s, 1)
    ON CONFLICT (day, task, event) DO UPDATE SET count = counted.count + 1
"""


def count(task: str, event: str) -> None:
    """Count one `event` (start, done, failed) of `task` on the present day."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [today(), task, event])
