"""The curators' queues. Staff read them and mark rows done; nobody adds or deletes here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.template.loader import render_to_string

from denpex.staff import StaffAdmin, site
from diagnosis.curation import excerpts
from diagnosis.curation.excerpts import Excerpt
from diagnosis.curation.models import Feedback
from diagnosis.history.models import HistoryEntry
from diagnosis.models import UnknownFailure

__all__ = ["FeedbackAdmin", "UnknownFailureAdmin"]

_MARK_LENGTH = 12
_WORDS_LISTED = 100


class DoneFilter(admin.SimpleListFilter):
    """Shows what is open, unless asked for more. What came again after it was done is open."""

    title = "state"
    parameter_name = "state"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> Sequence[tuple[str, str]]:
        """Offer what there is besides the open ones."""
        return [("done", "Done"), ("all", "All")]

    def choices(self, changelist: Any) -> Any:
        """Name the default."""
        offered = list(super().choices(changelist))
        offered[0]["display"] = "Open"
        return offered

    def queryset(self, _request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Select the rows of the chosen state."""
        is_open = Q(done_at__isnull=True)
        if rows.model is UnknownFailure:
            is_open |= Q(last_seen__gt=F("done_at"))
        match self.value():
            case "all":
                return rows
            case "done":
                return rows.exclude(is_open)
        return rows.filter(is_open)


class QueueAdmin(StaffAdmin):
    """A queue that all staff may read and mark; its rows come from diagnoses and visitors."""

    actions = ("mark_done", "mark_open")
    list_filter = (DoneFilter,)

    @admin.action(description="Mark as done", permissions=["view"])
    def mark_done(self, _request: HttpRequest, rows: QuerySet[Any]) -> None:
        """Take rows out of the queue."""
        rows.update(done_at=Now())

    @admin.action(description="Mark as open", permissions=["view"])
    def mark_open(self, _request: HttpRequest, rows: QuerySet[Any]) -> None:
        """Put rows back."""
        rows.update(done_at=None)


@admin.register(UnknownFailure, site=site)
class UnknownFailureAdmin(QueueAdmin):
    """Failures that no signature knows: how often they came, and to how many accounts."""

    list_display = ("mark", "count", "accounts", "first_seen", "last_seen", "done_at")
    fields = ("fingerprint", "count", "accounts", "first_seen", "last_seen", "done_at", "excerpts")
    readonly_fields = ("accounts", "excerpts")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Count the accounts that keep a run which died of it."""
        keeping = HistoryEntry.objects.filter(fingerprint=OuterRef("pk")).order_by()
        counted = keeping.values("fingerprint").annotate(n=Count("account", distinct=True))
        accounts = Coalesce(Subquery(counted.values("n")), 0)
        rows: QuerySet[Any] = super().get_queryset(request).annotate(accounts=accounts)
        return rows

    @admin.display(description="fingerprint")
    def mark(self, row: UnknownFailure) -> str:
        """Return the beginning of the fingerprint."""
        return row.fingerprint[:_MARK_LENGTH]

    @admin.display(description="accounts", ordering="accounts")
    def accounts(self, row: Any) -> int:
        """Return how many accounts have it in their history."""
        counted: int = row.accounts
        return counted

    @admin.display(description="masked excerpts")
    def excerpts(self, row: UnknownFailure) -> str:
        """Show the excerpts that may be read."""
        return _shown(excerpts.of_unknown(row.fingerprint))


@admin.register(Feedback, site=site)
class FeedbackAdmin(QueueAdmin):
    """Verdicts that were said to be wrong."""

    list_display = ("sent_at", "outcome", "said", "suggested", "beginning", "done_at")
    fields = (
        *("sent_at", "outcome", "said", "suggested", "words", "from_account", "engine"),
        *("done_at", "excerpt"),
    )
    readonly_fields = ("from_account", "excerpt")
    search_fields = ("said", "suggested", "words")

    @admin.display(description="words")
    def beginning(self, row: Feedback) -> str:
        """Return the first of the words."""
        return row.words[:_WORDS_LISTED]

    @admin.display(description="from an account", boolean=True)
    def from_account(self, row: Feedback) -> bool:
        """Say whether an account sent it; not which."""
        return row.account_id is not None

    @admin.display(description="masked excerpt")
    def excerpt(self, row: Feedback) -> str:
        """Show the excerpt, where its owner lets curators read it."""
        entry = excerpts.allowed().filter(pk=row.entry_id or "").first()
        return _shown(list(excerpts.of_entry(entry)) if entry else [])


def _shown(found: Sequence[Excerpt]) -> str:
    return render_to_string("curation/_excerpts.html", {"excerpts": found})
