"""The addresses below /account/ that have to do with organisations and evaluations."""

from __future__ import annotations

from django.urls import URLPattern, path

from denpex.accounts.organisations import views

urlpatterns: list[URLPattern] = [
    path("evaluation/", views.evaluation, name="evaluation"),
    path("evaluation/request/", views.request_code, name="evaluation_request"),
    path("evaluation/verify/<str:secret>/", views.verify, name="evaluation_verify"),
    path("evaluation/redeem/", views.redeem, name="evaluation_redeem"),
    path("organisations/join/<int:address_id>/", views.join, name="organisation_join"),
    path("organisations/leave/<int:membership_id>/", views.leave, name="organisation_leave"),
]
