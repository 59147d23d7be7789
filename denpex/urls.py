"""Every address of the site."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from denpex import health, staff, views
from encyclopedia import program_views
from encyclopedia import views as encyclopedia_views

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.home, name="home"),
    path("accuracy/", views.accuracy, name="accuracy"),
    path("privacy/", views.privacy, name="privacy"),
    path("failures/", include("encyclopedia.urls")),
    path("errors/", encyclopedia_views.messages, name="messages"),
    path("f/<slug:code>", encyclopedia_views.by_code, name="code"),
    path("f/<slug:code>/", encyclopedia_views.by_code),
    path("", include("diagnosis.urls")),
    path("", include("diagnosis.curation.urls")),
    path("account/history/", include("diagnosis.history.urls")),
    path("account/", include("denpex.accounts.urls")),
    path("staff/", staff.site.urls),
    path("llms.txt", program_views.llms_text, name="llms"),
    path("robots.txt", program_views.robots, name="robots"),
    path("sitemap.xml", program_views.sitemap, name="sitemap"),
    path(".well-known/security.txt", views.security_text, name="security"),
    path("favicon.ico", views.icon, {"name": "favicon.png"}),
    path("apple-touch-icon.png", views.icon, {"name": "apple-touch-icon.png"}),
    path("apple-touch-icon-precomposed.png", views.icon, {"name": "apple-touch-icon.png"}),
    path("style/", views.style, name="style"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

handler400 = "denpex.errors.bad_request"
handler403 = "denpex.errors.permission_denied"
handler404 = "denpex.errors.not_found"
handler500 = "denpex.errors.server_error"
