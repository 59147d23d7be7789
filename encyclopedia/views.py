"""The encyclopedia's pages: browse and search, and one page for each failure."""

from __future__ import annotations

from http import HTTPStatus

from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.http import HttpResponsePermanentRedirect as MovedPermanently
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from denpex.errors import error_page, words_of
from denpex.uploads import megabytes
from diagnosis import senders
from diagnosis.origin import is_foreign
from encyclopedia import browse as browsing
from encyclopedia import feedback as answers
from encyclopedia import gate, page, search
from encyclopedia.codes import key_of
from encyclopedia.models import Failure
from encyclopedia.stored import public_page, render_public

__all__ = [
    "browse",
    "by_code",
    "failure_or_redirect",
    "failure_page",
    "feedback",
    "messages",
    "suggestions",
    "thanks",
]


@public_page(varies_with=("q", *browsing.PARAMETERS))
def browse(request: HttpRequest) -> HttpResponseBase:
    """List the failures as the address asks for them, or those that a search finds.

    An address with a value that there is none of is a 404, so that nobody links or indexes it, and
    shows the list without that value.
    """
    if text := request.GET.get("q", "").strip():
        is_narrowed = any(request.GET.get(name) for name in browsing.PARAMETERS)
        return _search(text, filters=browsing.listing(request.GET) if is_narrowed else None)
    listing = browsing.listing(request.GET)
    is_canonical = listing.canonical and not listing.unknown
    canonical = settings.DENPEX_ORIGIN + listing.address if is_canonical else None
    ctx = {"listing": listing, "canonical": canonical}
    response = render_public("encyclopedia/browse.html", ctx)
    if listing.unknown:
        response.status_code = HTTPStatus.NOT_FOUND
    return response


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


def _search(
    text: str, *, short_address: str = "", filters: browsing.Listing | None = None
) -> HttpResponseBase:
    """Show what a search finds among all failures, and say so where the address has `filters`.

    `short_address` is the code that was asked for in place of a search.
    """
    result = search.find(text)
    if result.exact:
        return HttpResponseRedirect(result.exact.get_absolute_url())
    looks_like_log = len(text) > search.LONGEST_QUERY
    ctx = {
        "result": result,
        "query": result.query,
        "looks_like_log": looks_like_log,
        "pasted": text if looks_like_log else "",
        "short_address": short_address,
        "filters": filters,
        "searched": search.end_of(text),
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
    """Lead from a short address, such as /f/xid-79, to a page; a code may move to a better one.

    Of a code that no page has, a 404 says what the search for it says.
    """
    if failure := Failure.objects.coded(key_of(code)):
        return HttpResponseRedirect(failure.get_absolute_url())
    response = _search(words_of(code), short_address=code)
    if response.status_code == HTTPStatus.OK:
        response.status_code = HTTPStatus.NOT_FOUND
        response.headers["Cache-Control"] = "no-store"
    return response


@public_page(unless=gate.may_read_all)
def failure_page(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show one failure; to an account whole, and with its own figures."""
    failure = failure_or_redirect(slug, "failure")
    if not isinstance(failure, Failure):
        return failure
    if not gate.may_read_all(request):
        return render_public("encyclopedia/failure.html", page.context(failure, whole=False))
    sender = senders.identify(request)
    ctx = page.context(failure, whole=True) | {
        "origin": settings.DENPEX_ORIGIN,
        "allowance": sender.allowance(),
        "limit_megabytes": megabytes(senders.log_limit_bytes(sender.tier)),
        "keep_for": sender.tier.keep_for,
    }
    return render(request, "encyclopedia/failure.html", ctx)


@csrf_exempt
@require_POST
def feedback(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Count whether the page was what its reader had; pages carry no token, so origins decide."""
    if is_foreign(request):
        return error_page(
            request,
            HTTPStatus.FORBIDDEN,
            message="This answer was sent from another site.",
            advice="Open the page here on which its button stands, and answer there.",
            form_page=f"{reverse('failure', args=[slug])}#was-it",
        )
    failure = Failure.objects.named(slug)
    if failure is None:
        raise Http404(f"there is no failure {slug!r}")
    answer = request.POST.get("answer", "")
    if answer not in answers.ANSWERS:
        advice = "Go back and choose yes or no."
        return error_page(request, 400, message="There is no such answer.", advice=advice)
    answers.count(failure, answer)
    response = HttpResponseRedirect(reverse("was-it-answered", args=[failure.slug, answer]))
    response.status_code = HTTPStatus.SEE_OTHER
    return response


@public_page()
def thanks(_request: HttpRequest, slug: str, answer: str) -> HttpResponseBase:
    """Thank for an answer, and after a no show the way on."""
    failure = Failure.objects.named(slug)
    if failure is None or answer not in answers.ANSWERS:
        raise Http404(f"there is no answer {answer!r} to {slug!r}")
    others = [each.other for each in failure.look_alikes.select_related("other")]
    ctx = {"failure": failure, "answer": answer, "look_alikes": others if answer == "no" else []}
    return render_public("encyclopedia/thanks.html", ctx)


def failure_or_redirect(slug: str, name: str) -> Failure | MovedPermanently:
    """Return the failure of an address called `name`, or the way there from an older slug."""
    failure = Failure.objects.named(slug)
    if failure is None:
        raise Http404(f"there is no failure {slug!r}")
    if failure.slug != slug:
        return MovedPermanently(reverse(name, args=[failure.slug]))
    return failure
