"""The encyclopedia's addresses, below /failures/."""

from __future__ import annotations

from django.urls import path

from encyclopedia import program_views, views

urlpatterns = [
    path("", views.browse, name="failures"),
    path("suggestions.json", views.suggestions, name="suggestions"),
    path("catalogue.json", program_views.catalogue, name="catalogue"),
    path("catalogue.schema.json", program_views.catalogue_schema, name="catalogue-schema"),
    path("feed.xml", program_views.feed, name="feed"),
    path("<slug:slug>/", views.failure_page, name="failure"),
    path("<slug:slug>/was-it/", views.feedback, name="was-it"),
    path("<slug:slug>/was-it/<slug:answer>/", views.thanks, name="was-it-answered"),
    path("<slug:slug>.md", program_views.failure_markdown, name="failure-markdown"),
    path("<slug:slug>.json", program_views.failure_json, name="failure-json"),
]
