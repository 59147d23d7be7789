"""The addresses below /account/history/."""

from __future__ import annotations

from django.urls import include, path

from diagnosis.history import views

_entry_patterns = [
    path("describe/", views.describe, name="history-describe"),
    path("rerun/", views.rerun, name="history-rerun"),
    path("share/", views.share, name="history-share"),
    path("withdraw/", views.withdraw, name="history-withdraw"),
    path("delete/", views.delete, name="history-delete"),
]

urlpatterns = [
    path("", views.history, name="history"),
    path("delete/", views.delete_all, name="history-delete-all"),
    path("export.json", views.export_json, name="history-json"),
    path("export.zip", views.export_zip, name="history-zip"),
    path("<slug:entry_id>/", include(_entry_patterns)),
]
