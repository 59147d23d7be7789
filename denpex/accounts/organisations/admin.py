"""Organisations, codes, requests and the audit trail in the staff's admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Case, Count, QuerySet, Value, When
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from denpex import staff
from denpex.accounts.http import AccountRequest
from denpex.accounts.models import User
from denpex.accounts.organisations import closing, codes, memberships, requests
from denpex.accounts.organisations.domains import Kind, kind_of, registrable_domain
from denpex.accounts.organisations.memberships import organisation_of
from denpex.accounts.organisations.models import (
    AuditEntry,
    EvaluationCode,
    EvaluationRequest,
    Membership,
    Organisation,
)

__all__ = [
    "AuditEntryAdmin",
    "EvaluationCodeAdmin",
    "EvaluationRequestAdmin",
    "MembershipAdmin",
    "OrganisationAdmin",
]


@admin.register(Organisation, site=staff.site)
class OrganisationAdmin(staff.StaffAdmin):
    """Organisations: closed where the domain turns out to belong to everybody."""

    audit_field = "organisation"
    list_display = ("domain", "name", "members", "verified_at", "closed_at")
    search_fields = ("domain", "name")
    fields = ("domain", "name", "verified_at", "closed_at", "member_rows", "code_rows")
    readonly_fields = ("domain", "verified_at", "closed_at", "member_rows", "code_rows")
    actions = ("close", "reopen")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let all staff mend a name."""
        return self.admin_site.has_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Organisation]:
        """Count the members along."""
        found: QuerySet[Organisation] = super().get_queryset(request)
        return found.annotate(members=Count("memberships"))

    @admin.display(ordering="members")
    def members(self, organisation: Any) -> int:
        """Say how many members it has."""
        count: int = organisation.members
        return count

    @admin.display(description="members")
    def member_rows(self, organisation: Organisation) -> str:
        """Lead to its members."""
        return staff.link_to_rows("organisations_membership", "organisation", organisation.pk)

    @admin.display(description="codes")
    def code_rows(self, organisation: Organisation) -> str:
        """Lead to its codes."""
        return staff.link_to_rows("organisations_evaluationcode", "organisation", organisation.pk)

    @admin.action(description="Close: end memberships, revoke the code, take nobody in")
    def close(self, request: AccountRequest, chosen: QuerySet[Organisation]) -> None:
        """Close organisations."""
        _for_each(request, chosen, closing.close, "closed")

    @admin.action(description="Open again")
    def reopen(self, request: AccountRequest, chosen: QuerySet[Organisation]) -> None:
        """Open organisations again."""
        _for_each(request, chosen, closing.reopen, "open again")


@admin.register(Membership, site=staff.site)
class MembershipAdmin(staff.StaffAdmin):
    """Members: ended one by one where somebody has left a workplace."""

    list_display = ("address", "organisation", "account", "joined_at")
    list_select_related = ("organisation", "account")
    search_fields = ("address", "organisation__domain", "account__email")
    fields = list_display
    actions = ("end",)

    @admin.action(description="End the membership")
    def end(self, request: AccountRequest, chosen: QuerySet[Membership]) -> None:
        """End memberships, and the tier that they gave."""
        _for_each(request, chosen.select_related("account"), memberships.leave, "ended")


class MintForm(forms.ModelForm):  # type: ignore[type-arg]
    """Where a code is sent: the address says which organisation it is for."""

    recipient = forms.EmailField(
        label="Send it to",
        help_text="An address of the organisation. Nobody sees the code but who reads that mail; a"
        " code of the organisation that is live gives way to it.",
    )

    class Meta:
        """What else is asked."""

        model = EvaluationCode
        fields = ("is_further",)

    def clean_recipient(self) -> str:
        """Take addresses of workplaces that are open."""
        recipient = User.objects.normalize_email(self.cleaned_data["recipient"])
        if kind_of(recipient) is Kind.FREE_MAIL:
            raise ValidationError("Everybody can have such an address: it shows no workplace.")
        organisation = self._organisation(recipient)
        if organisation is not None and organisation.closed_at is not None:
            raise ValidationError(f"{organisation} is closed: open it again first.")
        return recipient

    def clean(self) -> dict[str, Any]:
        """Keep to one evaluation, unless staff say otherwise."""
        cleaned: dict[str, Any] = super().clean() or {}
        organisation = self._organisation(cleaned.get("recipient", ""))
        if organisation and codes.first_evaluation(organisation) and not cleaned["is_further"]:
            raise ValidationError(
                f"{organisation} had its evaluation. Tick the box where it shall have a further"
                " one."
            )
        return cleaned

    def _organisation(self, recipient: str) -> Organisation | None:
        return Organisation.objects.filter(domain=registrable_domain(recipient)).first()


@admin.register(EvaluationCode, site=staff.site)
class EvaluationCodeAdmin(staff.StaffAdmin):
    """Codes: minted and revoked; never shown."""

    audit_field = "code"
    list_display = (
        *("organisation", "state", "minted_at", "expires_at", "closed_at"),
        *("redeemed_by", "minted_by", "is_further"),
    )
    list_filter = ("state", "is_further")
    list_select_related = ("organisation", "redeemed_by", "minted_by")
    search_fields = ("organisation__domain",)
    form = MintForm
    actions = ("revoke",)
    fields = (
        *("organisation", "state", "is_further", "request", "minted_at", "minted_by"),
        *("expires_at", "closed_at", "redeemed_by", "grant", "reminded_at"),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let all staff mint."""
        return self.admin_site.has_permission(request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Ask for what minting needs; show all of what there is."""
        return super().get_fields(request, obj) if obj else ("recipient", "is_further")

    def save_model(
        self,
        request: HttpRequest,
        obj: EvaluationCode,
        form: Any,
        change: bool,  # noqa: FBT001
    ) -> None:
        """Mint, in place of saving the form."""
        recipient = form.cleaned_data["recipient"]
        user = request.user if isinstance(request.user, User) else None
        with transaction.atomic():
            obj.organisation = organisation_of(recipient, staff=user)
            minted = codes.mint(obj.organisation, recipient, staff=user, is_further=obj.is_further)
            obj.pk = minted.pk

    @admin.action(description="Revoke")
    def revoke(self, request: AccountRequest, chosen: QuerySet[EvaluationCode]) -> None:
        """Revoke the live ones of these codes."""
        _for_each(request, chosen, codes.revoke, "revoked")


@admin.register(EvaluationRequest, site=staff.site)
class EvaluationRequestAdmin(staff.StaffAdmin):
    """Requests: those that wait for a person stand first."""

    list_display = (
        *("address", "organisation_name", "state", "is_suspected", "made_at", "proved_at"),
        *("decided_by",),
    )
    list_filter = ("state", "is_suspected")
    list_select_related = ("decided_by",)
    search_fields = ("address", "organisation_name")
    fields = (
        *("address", "organisation_name", "purpose", "account", "state", "is_suspected"),
        *("made_at", "proved_at", "decided_at", "decided_by"),
    )
    actions = ("approve", "decline")

    def get_ordering(self, request: HttpRequest) -> list[Any]:
        """Put first what waits."""
        waits = When(state=EvaluationRequest.State.IN_REVIEW, then=Value(0))
        return [Case(waits, default=Value(1)), "-made_at", "-pk"]

    @admin.action(description="Approve: it is a workplace")
    def approve(self, request: AccountRequest, chosen: QuerySet[EvaluationRequest]) -> None:
        """Let the requests go on."""
        _for_each(request, chosen, requests.approve, "approved")

    @admin.action(description="Decline: no workplace")
    def decline(self, request: AccountRequest, chosen: QuerySet[EvaluationRequest]) -> None:
        """Turn the requests down."""
        _for_each(request, chosen, requests.decline, "declined")


@admin.register(AuditEntry, site=staff.site)
class AuditEntryAdmin(staff.StaffAdmin):
    """The audit trail: read only."""

    list_display = (
        "at",
        "event",
        "organisation",
        "code_link",
        "account_link",
        "staff_link",
        "detail",
    )
    list_display_links = None
    list_filter = ("event",)
    list_select_related = ("organisation",)
    search_fields = ("organisation__domain", "detail")
    date_hierarchy = "at"
    fields = list_display

    @admin.display(description="code")
    def code_link(self, entry: AuditEntry) -> str:
        """Lead to the code."""
        return _link("organisations_evaluationcode", "code", entry.code_id)

    @admin.display(description="account")
    def account_link(self, entry: AuditEntry) -> str:
        """Lead to the account, which may be gone."""
        return _link("accounts_user", "account", entry.account_id)

    @admin.display(description="staff")
    def staff_link(self, entry: AuditEntry) -> str:
        """Lead to the member of staff."""
        return _link("accounts_user", "account", entry.staff_id)


def _for_each(
    request: AccountRequest,
    chosen: QuerySet[Any],
    act: Callable[[Any, User], object],
    done: str,
) -> None:
    """Act on each row by itself, and say on how many there was something to do."""
    done_to = [bool(act(row, request.user)) for row in chosen]
    messages.success(request, f"{sum(done_to)} {done}.")
    if rest := done_to.count(False):
        messages.warning(request, f"{rest} left as they were: there was nothing to do.")


def _link(table: str, name: str, number: int | None) -> str:
    if number is None:
        return "-"
    return format_html(
        '<a href="{}">{} {}</a>', reverse(f"admin:{table}_change", args=[number]), name, number
    )
