"""The encyclopedia's pages: browse and search, and one page for each failure."""

from __future__ import annotations

from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.http import HttpResponsePermanentRedirect as MovedPermanently
from django.urls import reverse
from django.views.decorators.http import require_safe

from encyclopedia import browse as browsing
from encyclopedia import gate, page, search
from encyclopedia.codes import key_of
from encyclopedia.models import Failure
from encyclopedia.stored import public_page, render_public

__all__ = [
    "browse",
    "by_code",
    "failure_or_redirect",
    "failure_page",
    "messages",
    "suggestions",
]


@public_page(varies_with=("q", *browsing.PARAMETERS))
def browse(request: HttpRequest) -> HttpResponseBase:
    """List the failures as the address asks for them, or those that a search finds."""
    if text := request.GET.get("q", "").strip():
        return _search(text)
    try:
        listing = browsing.listing(request.GET)
    except browsing.UnknownFilterError as error:
        raise Http404(str(error)) from None
    canonical = settings.DENPEX_ORIGIN + listing.address if listing.canonical else None
    return render_public("encyclopedia/browse.html", {"listing": listing, "canonical": canonical})


@public_page()
def messages(_request: HttpRequest) -> HttpResponseBase:
    """List every message of every failure, with the way to its page."""
    groups = [
        (key, name, list(Failure.objects.printing_in(key)))
        for key, name, _number in Failure.objects.counts()
    ]
    ctx = {
        "groups": [group for group in groups if group[2]],
        "total": sum(len(each.wordings) for _key, _name, group in groups for each in group),
        "canonical": settings.DENPEX_ORIGIN + reverse("messages"),
    }
    return render_public("encyclopedia/messages.html", ctx)


def _search(text: str) -> HttpResponseBase:
    result = search.find(text)
    if result.exact:
        return HttpResponseRedirect(result.exact.get_absolute_url())
    looks_like_log = len(text) > search.LONGEST_QUERY
    ctx = {
        "result": result,
        "query": result.query,
        "looks_like_log": looks_like_log,
        "pasted": text if looks_like_log else "",
    }
    return render_public("encyclopedia/search.html", ctx)


@public_page(varies_with=("q",))
def suggestions(request: HttpRequest) -> HttpResponseBase:
    """Return what may be meant by the text typed so far, for the search box."""
    found = search.suggest(request.GET.get("q", ""))
    return JsonResponse(
        {
            "suggestions": [
                {
                    "title": failure.title,
                    "url": failure.get_absolute_url(),
                    "severity": failure.severity,
                    "message": failure.message,
                }
                for failure in found
            ]
        }
    )


@require_safe
def by_code(_request: HttpRequest, code: str) -> HttpResponseBase:
    """Lead from a short address, such as /f/xid-79, to a page; a code may move to a better one."""
    failure = Failure.objects.coded(key_of(code))
    if failure is None:
        raise Http404(f"no failure has the code {code!r}")
    return HttpResponseRedirect(failure.get_absolute_url())


@public_page(unless=gate.may_read_all)
def failure_page(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show one failure."""
    failure = failure_or_redirect(slug, "failure")
    if not isinstance(failure, Failure):
        return failure
    return render_public(
        "encyclopedia/failure.html", page.context(failure, whole=gate.may_read_all(request))
    )


def failure_or_redirect(slug: str, name: str) -> Failure | MovedPermanently:
    """Return the failure of an address called `name`, or the way there from an older slug."""
    failure = Failure.objects.named(slug)
    if failure is None:
        raise Http404(f"there is no failure {slug!r}")
    if failure.slug != slug:
        return MovedPermanently(reverse(name, args=[failure.slug]))
    return failure
