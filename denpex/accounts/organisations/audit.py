"""The record of every step, to which rows are only ever added."""

from __future__ import annotations

from denpex.accounts.models import User
from denpex.accounts.organisations.models import AuditEntry, EvaluationCode, Organisation

__all__ = ["Event", "record"]

Event = AuditEntry.Event


def record(  # noqa: PLR0913 - each is a column of its own
    event: Event,
    *,
    organisation: Organisation | None = None,
    code: EvaluationCode | None = None,
    account: User | None = None,
    staff: User | None = None,
    detail: str = "",
) -> None:
    """Write down one step. `detail` holds no address, and nothing that anyone typed."""
    AuditEntry.objects.create(
        event=event,
        organisation=organisation or (code.organisation if code else None),
        code=code,
        account=account,
        staff=staff,
        detail=detail,
    )
