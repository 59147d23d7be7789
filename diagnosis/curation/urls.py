"""The addresses of what is said to curators."""

from __future__ import annotations

from django.urls import path

from diagnosis.curation import views

urlpatterns = [
    path("d/<slug:job_id>/feedback/", views.feedback, name="feedback"),
    path("account/excerpts/", views.excerpts, name="account_excerpts"),
]
