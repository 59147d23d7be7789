"""Pages and files of the site that belong to no app."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from denpex import figures
from denpex.accounts.tiers import ANONYMOUS, TIERS
from encyclopedia.catalogue import ROLES, SEVERITIES
from encyclopedia.models import Failure
from encyclopedia.stored import public_page, render_public

__all__ = ["accuracy", "home", "icon", "privacy", "security_text", "style"]

# RFC 9116 asks for a date within a year.
_SECURITY_TEXT_HOLDS = dt.timedelta(days=180)


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
def privacy(_request: HttpRequest) -> HttpResponseBase:
    """Say what is kept of a log, an account and a visit, for how long, and how it goes."""
    ctx = {
        "tiers": [tier for tier in TIERS.values() if tier is not ANONYMOUS],
        "contact": settings.DENPEX_CONTACT,
        "canonical": settings.DENPEX_ORIGIN + reverse("privacy"),
    }
    return render_public("privacy.html", ctx)


@require_safe
def security_text(_request: HttpRequest) -> HttpResponse:
    """Say whom to tell of a hole, as https://www.rfc-editor.org/rfc/rfc9116 asks for it."""
    if not settings.DENPEX_CONTACT:
        raise Http404("DENPEX_CONTACT is not set")
    expires = dt.datetime.now(tz=dt.UTC).replace(microsecond=0) + _SECURITY_TEXT_HOLDS
    lines = (
        f"Contact: {settings.DENPEX_CONTACT}",
        f"Expires: {expires.isoformat()}",
        "Preferred-Languages: en",
        f"Canonical: {settings.DENPEX_ORIGIN}{reverse('security')}",
    )
    return HttpResponse("\n".join((*lines, "")), content_type="text/plain; charset=utf-8")


@require_safe
def icon(_request: HttpRequest, name: str) -> HttpResponseBase:
    """Lead to a picture for which browsers look without being told."""
    return HttpResponseRedirect(static(f"img/{name}"))


@public_page()
def style(_request: HttpRequest) -> HttpResponseBase:
    """Show every element of the stylesheet, for whoever writes a page; not for search engines."""
    response = render_public("style.html", {"severities": SEVERITIES, "roles": ROLES})
    response.headers["X-Robots-Tag"] = "noindex"
    return response
