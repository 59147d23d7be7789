"""What programs read: the twins of each page, the whole catalogue, and what crawlers ask for."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed

from encyclopedia import documents, gate
from encyclopedia.models import Failure
from encyclopedia.page import page_of
from encyclopedia.page_markdown import as_markdown
from encyclopedia.stored import public_page, render_public
from encyclopedia.views import failure_or_redirect

__all__ = [
    "catalogue",
    "catalogue_schema",
    "failure_json",
    "failure_markdown",
    "feed",
    "llms_text",
    "robots",
    "sitemap",
]

_JSON = "application/json"
_MARKDOWN = "text/markdown; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_XML = "application/xml"
_MOST_IN_FEED = 50


@public_page(unless=gate.may_read_all)
def failure_markdown(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Return one failure as Markdown."""
    failure = failure_or_redirect(slug, "failure-markdown")
    if not isinstance(failure, Failure):
        return failure
    text = as_markdown(page_of(failure, whole=gate.may_read_all(request)))
    return _twin(failure, text, _MARKDOWN)


@public_page(unless=gate.may_read_all)
def failure_json(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Return one failure as JSON."""
    failure = failure_or_redirect(slug, "failure-json")
    if not isinstance(failure, Failure):
        return failure
    text = documents.failure_as_json(failure, whole=gate.may_read_all(request))
    return _twin(failure, text, _JSON)


def _twin(failure: Failure, text: str, content_type: str) -> HttpResponse:
    """Return another form of a page, which search engines are to count as that page."""
    page = settings.DENPEX_ORIGIN + failure.get_absolute_url()
    return HttpResponse(
        text, content_type=content_type, headers={"Link": f'<{page}>; rel="canonical"'}
    )


@public_page()
def catalogue(_request: HttpRequest) -> HttpResponseBase:
    """Return all failures as one JSON document."""
    return HttpResponse(documents.catalogue_as_json(), content_type=_JSON)


@public_page()
def catalogue_schema(_request: HttpRequest) -> HttpResponseBase:
    """Return the JSON schema of the catalogue and of a failure."""
    schema = documents.CATALOGUE_SCHEMA.read_text(encoding="utf-8")
    return HttpResponse(schema, content_type="application/schema+json")


@public_page()
def llms_text(_request: HttpRequest) -> HttpResponseBase:
    """Return the index for language models: https://llmstxt.org."""
    groups = [
        (name, list(Failure.objects.filter(category=key).order_by("title")))
        for key, name, _number in Failure.objects.counts()
    ]
    ctx = {"groups": groups, "invitation": gate.INVITATION}
    response = render_public("encyclopedia/llms.txt", ctx)
    response.headers["Content-Type"] = _TEXT
    return response


@public_page()
def sitemap(_request: HttpRequest) -> HttpResponseBase:
    """List the pages, each failure with the date of its content."""
    ctx = {
        "pages": [
            reverse(name) for name in ("home", "failures", "messages", "accuracy", "privacy")
        ],
        "failures": Failure.objects.only("slug", "reviewed").order_by("slug"),
    }
    response = render_public("encyclopedia/sitemap.xml", ctx)
    response.headers["Content-Type"] = _XML
    return response


@public_page()
def robots(_request: HttpRequest) -> HttpResponseBase:
    """Say what crawlers need not read, and where the sitemap is."""
    response = render_public("encyclopedia/robots.txt", {})
    response.headers["Content-Type"] = _TEXT
    return response


@public_page()
def feed(_request: HttpRequest) -> HttpResponseBase:
    """List the failures that are new or were changed last, as an Atom feed."""
    origin = settings.DENPEX_ORIGIN
    atom = Atom1Feed(
        title="Denpex: new and changed failures",
        link=origin + reverse("failures"),
        description="Failures of ML training and serving: their messages, causes and fixes.",
        feed_url=origin + reverse("feed"),
        language="en",
        author_name="Denpex",
    )
    for failure in Failure.objects.order_by("-reviewed", "slug")[:_MOST_IN_FEED]:
        reviewed = dt.datetime.combine(failure.reviewed, dt.time(), dt.UTC)
        atom.add_item(
            title=failure.title,
            link=origin + failure.get_absolute_url(),
            unique_id=origin + failure.get_absolute_url(),
            description=failure.summary,
            updateddate=reviewed,
            categories=[failure.category_name],
        )
    return HttpResponse(atom.writeString("utf-8"), content_type="application/atom+xml")
