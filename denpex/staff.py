"""The staff's admin: Django's own, behind the site's login, for staff alone.

Who may log in to it may do all that it offers. What happens there is written into the audit trail,
and nothing is ever deleted: a grant ends, a code is revoked, an account is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.html import format_html
from django.views.generic import RedirectView

__all__ = ["ReadOnlyInline", "StaffAdmin", "StaffSite", "link_to_rows", "site"]


def _page(name: str) -> Callable[..., HttpResponseBase]:
    return RedirectView.as_view(pattern_name=name)


class StaffSite(admin.AdminSite):
    """The admin under /staff/."""

    site_header = site_title = "Denpex staff"
    index_title = "Tables"
    index_template = "staff/index.html"
    enable_nav_sidebar = False
    empty_value_display = "-"

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Lead to the site's own pages for logging in and out and for the password."""
        own: list[URLPattern | URLResolver] = [
            path("login/", secure_admin_login(_page("admin:index")), name="login"),
            path("logout/", _page("account_logout"), name="logout"),
            path("password_change/", _page("account_change_password"), name="password_change"),
        ]
        return own + super().get_urls()


site = StaffSite(name="admin")


class StaffAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """One table of the admin: read, and changed only where a subclass says so.

    `audit_field` is the field of the audit trail that leads to a row's history.
    """

    audit_field: str | None = None
    # A form of the admin has a field for each row that is chosen (DATA_UPLOAD_MAX_NUMBER_FIELDS).
    list_per_page = 25
    show_full_result_count = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show it to all staff."""
        return self.admin_site.has_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Show it to all staff."""
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Add nothing."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Change nothing."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Delete nothing: what ends stays as a record."""
        return False

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]
        """Leave it to the audit trail: Django's own record would hold addresses."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]
        """Leave it to the audit trail."""

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Lead to what the audit trail says about the row."""
        trail = reverse("admin:organisations_auditentry_changelist")
        chosen = f"?{self.audit_field}__id__exact={int(object_id)}" if self.audit_field else ""
        return redirect(f"{trail}{chosen}")


def link_to_rows(table: str, field: str, number: int) -> str:
    """Return a link to the rows of a table that belong to one row of another.

    Rows below a form would each bring fields of their own, and a form has room for 50.
    """
    address = reverse(f"admin:{table}_changelist")
    return format_html('<a href="{}?{}__id__exact={}">Show</a>', address, field, number)


class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]
    """Rows that belong to the one that is shown."""

    extra = 0
    can_delete = False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Show it to all staff."""
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any) -> bool:  # type: ignore[override]
        """Add nothing."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Change nothing."""
        return False
