"""The encyclopedia's addresses, below /failures/."""

from __future__ import annotations

from django.urls import path

from encyclopedia import views

urlpatterns = [
    path("", views.browse, name="failures"),
    path("suggestions.json", views.suggestions, name="suggestions"),
    path("<slug:slug>/", views.failure_page, name="failure"),
    path("<slug:slug>.md", views.failure_markdown, name="failure-markdown"),
    path("<slug:slug>.json", views.failure_json, name="failure-json"),
]
