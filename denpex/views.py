"""Pages of the site that belong to no app: the home page and the style page."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse

from denpex import figures
from encyclopedia.catalogue import ROLES, SEVERITIES
from encyclopedia.models import Failure
from encyclopedia.stored import public_page, render_public

__all__ = ["accuracy", "home", "style"]


@public_page()
def home(_request: HttpRequest) -> HttpResponseBase:
    """Say what the site does, with the paste box at once and the way to the encyclopedia."""
    counts = Failure.objects.counts()
    total = sum(number for _key, _name, number in counts)
    ctx = {
        "counts": counts,
        "total": total,
        "figures": figures.summary(),
        "canonical": settings.DENPEX_ORIGIN + reverse("home"),
    }
    return render_public("home.html", ctx)


@public_page()
def accuracy(_request: HttpRequest) -> HttpResponseBase:
    """Publish how often the engine is right, and how that is measured."""
    ctx = {
        "overall": figures.overall(),
        "groups": figures.groups(),
        "columns": figures.columns(),
        "figures": figures.summary(),
        "canonical": settings.DENPEX_ORIGIN + reverse("accuracy"),
    }
    return render_public("accuracy.html", ctx)


@public_page()
def style(_request: HttpRequest) -> HttpResponseBase:
    """Show every element of the stylesheet, for whoever writes a page; not for search engines."""
    response = render_public("style.html", {"severities": SEVERITIES, "roles": ROLES})
    response.headers["X-Robots-Tag"] = "noindex"
    return response
