"""The site with one address more: a view that does nothing, to measure pages beside."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from denpex.wsgi import application

__all__ = ["application"]


def _empty(_request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [path("empty/", _empty), path("", include("denpex.urls"))]
settings.ROOT_URLCONF = __name__
