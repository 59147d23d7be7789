"""Whether a page was what its reader had: counted by page and day, and nothing of the reader."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from diagnosis.visitors import today
from encyclopedia.models import Failure

__all__ = ["ANSWERS", "count"]

ANSWERS: Sequence[str] = ("yes", "no")

_COUNT = """
    INSERT INTO encyclopedia_feedback AS counted (failure_id, day, answer, count)
    VALUES (%s, %s, %s, 1)
    ON CONFLICT (failure_id, day, answer) DO UPDATE SET count = counted.count + 1
"""


def count(failure: Failure, answer: str) -> None:
    """Count one `answer` (of ANSWERS) to "Was this it?" on the present day."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [failure.pk, today(), answer])
