"""The addresses below /account/: those of allauth that this site offers, and our own."""

from __future__ import annotations

from allauth.account import views as allauth
from django.urls import URLPattern, URLResolver, include, path, re_path

from denpex.accounts import views

_password_patterns = [
    path("change/", allauth.password_change, name="account_change_password"),
    path("set/", allauth.password_set, name="account_set_password"),
    path("reset/", allauth.password_reset, name="account_reset_password"),
    path("reset/done/", allauth.password_reset_done, name="account_reset_password_done"),
    path(
        "reset/key/done/",
        allauth.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(
        r"^reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        allauth.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.overview, name="account"),
    path("delete/", views.delete, name="account_delete"),
    path("signup/", allauth.signup, name="account_signup"),
    path("login/", allauth.login, name="account_login"),
    path("logout/", allauth.logout, name="account_logout"),
    path("inactive/", allauth.account_inactive, name="account_inactive"),
    path("reauthenticate/", allauth.reauthenticate, name="account_reauthenticate"),
    path("email/", allauth.email, name="account_email"),
    path(
        "confirm-email/",
        allauth.email_verification_sent,
        name="account_email_verification_sent",
    ),
    re_path(
        r"^confirm-email/(?P<key>[-:\w]+)/$", views.confirm_email, name="account_confirm_email"
    ),
    path("password/", include(_password_patterns)),
    path("2fa/", include("allauth.mfa.urls")),
    path("", include("denpex.accounts.organisations.urls")),
]
