"""The staff's admin: Django's own, behind the site's login, for staff alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

__all__ = ["StaffAdmin", "StaffSite", "site"]


def _page(name: str) -> Callable[..., HttpResponseBase]:
    return RedirectView.as_view(pattern_name=name)


class StaffSite(admin.AdminSite):
    """The admin under /staff/."""

    site_header = site_title = "Denpex staff"
    index_title = "Tables"
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
    """One table of the admin: read, and changed only where a subclass says so."""

    # A form of the admin has a field for each row that is chosen (DATA_UPLOAD_MAX_NUMBER_FIELDS).
    list_per_page = 25
    show_full_result_count = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show it to all staff."""
        return self.admin_site.has_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Show it to all staff."""
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Add nothing."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Change nothing."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Delete nothing: what ends stays as a record."""
        return False
