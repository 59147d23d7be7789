"""Accounts and grants in the staff's admin."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest

from denpex import staff
from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import audit
from denpex.accounts.organisations.audit import Event
from denpex.accounts.standing import tier_of
from diagnosis import quota, visitors

__all__ = ["AccountAdmin", "GrantAdmin"]


class _AddressInline(staff.ReadOnlyInline):
    model = EmailAddress
    fields = ("email", "verified", "primary")


@admin.register(User, site=staff.site)
class AccountAdmin(staff.StaffAdmin):
    """Accounts: found by address, closed and opened again."""

    audit_field = "account"
    list_display = ("email", "tier", "is_active", "is_staff", "date_joined")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "emailaddress__email")
    ordering = ("-date_joined",)
    fields = (
        *("email", "tier", "left_today", "second_factor", "date_joined", "last_login"),
        *("grants", "memberships", "is_active", "is_staff", "is_superuser"),
    )
    inlines: ClassVar = [_AddressInline]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let staff close accounts; those of other staff are for superusers."""
        if not self.admin_site.has_permission(request) or not isinstance(request.user, User):
            return False
        return request.user.is_superuser or not (obj is not None and obj.is_staff)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Let nobody but a superuser make staff."""
        own = {"is_active"}
        if isinstance(request.user, User) and request.user.is_superuser:
            own |= {"is_staff", "is_superuser"}
        return tuple(name for name in self.fields if name not in own)

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:  # type: ignore[type-arg]  # noqa: FBT001
        """Save, and write down what was changed."""
        super().save_model(request, obj, form, change)
        for name in form.changed_data:
            detail = f"{name}: {getattr(obj, name)}"
            audit.record(Event.ACCOUNT_CHANGED, account=obj, staff=_who(request), detail=detail)

    @admin.display(description="tier")
    def tier(self, account: User) -> str:
        """Say what the account has now."""
        tier = tier_of(account)
        return f"{tier.name}, {tier.diagnoses_a_day} a day"

    @admin.display(description="left today")
    def left_today(self, account: User) -> str:
        """Say what is left of the day."""
        left = quota.allowance_of(account, tier_of(account), visitors.today())
        return f"{left.left} of {left.limit}, and {left.welcome} extra for a new account"

    @admin.display(description="grants")
    def grants(self, account: User) -> str:
        """Lead to what was granted."""
        return staff.link_to_rows("accounts_grant", "account", account.pk)

    @admin.display(description="organisations")
    def memberships(self, account: User) -> str:
        """Lead to where it is a member."""
        return staff.link_to_rows("organisations_membership", "account", account.pk)

    @admin.display(description="second factor", boolean=True)
    def second_factor(self, account: User) -> bool:
        """Say whether an authenticator app is asked for."""
        asked: bool = is_mfa_enabled(account)
        return asked


@admin.register(Grant, site=staff.site)
class GrantAdmin(staff.StaffAdmin):
    """Grants: given with a reason; taken back by an end."""

    list_display = ("account", "tier", "diagnoses_a_day", "begins_at", "ends_at", "why", "given_by")
    list_filter = ("tier",)
    list_select_related = ("account", "given_by")
    search_fields = ("account__email", "why")
    raw_id_fields = ("account",)
    fields = ("account", "tier", "diagnoses_a_day", "begins_at", "ends_at", "why")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Let all staff give one."""
        return self.admin_site.has_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Let all staff set an end or a limit."""
        return self.admin_site.has_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Keep what was given as it was given."""
        return () if obj is None else ("account", "tier", "begins_at", "why")

    def save_model(self, request: HttpRequest, obj: Grant, form: ModelForm, change: bool) -> None:  # type: ignore[type-arg]  # noqa: FBT001
        """Save, with whoever gave it, and write it down."""
        if not change:
            obj.given_by = _who(request)
        super().save_model(request, obj, form, change)
        event = Event.GRANT_CHANGED if change else Event.GRANT_GIVEN
        limit = "the tier's" if obj.diagnoses_a_day is None else obj.diagnoses_a_day
        end = f"{obj.ends_at:%Y-%m-%d %H:%M}" if obj.ends_at else "open"
        detail = f"grant {obj.pk}: {obj.tier}, limit {limit}, end {end}"
        audit.record(event, account=obj.account, staff=_who(request), detail=detail)


def _who(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None
