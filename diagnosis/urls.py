"""The addresses of a diagnosis."""

from __future__ import annotations

from django.urls import include, path

from diagnosis import log_views, views

_job_patterns = [
    path("deleted/", views.deleted, name="deleted"),
    path("<slug:job_id>/", views.verdict, name="verdict"),
    path("<slug:job_id>.json", views.verdict_json, name="verdict-json"),
    path("<slug:job_id>.md", views.verdict_markdown, name="verdict-markdown"),
    path("<slug:job_id>/delete/", views.delete, name="delete-verdict"),
    path("<slug:job_id>/log/", log_views.log_search, name="log-search"),
    path("<slug:job_id>/log/<int:number>/", log_views.log_page, name="log-page"),
    path("<slug:job_id>/log/<int:number>/lines/", log_views.log_lines, name="log-lines"),
    path("<slug:job_id>/log/<int:number>.txt", views.log_file, name="log-file"),
]

urlpatterns = [
    path("diagnose/", views.diagnose, name="diagnose"),
    path("diagnose/allowance/", views.allowance, name="allowance"),
    path("d/", include(_job_patterns)),
]
