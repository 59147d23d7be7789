"""What a page says of itself to search engines: https://schema.org, as JSON-LD."""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse

from encyclopedia.models import Failure

__all__ = ["CARD", "json_ld"]

# The picture that other sites show beside a link to a page; `make card` draws it.
CARD = "img/card.png"
_SCRIPT_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def json_ld(failure: Failure) -> str:
    """Return the structured data of a failure's page, safe inside a script element."""
    origin = settings.DENPEX_ORIGIN
    url = origin + failure.get_absolute_url()
    browse = origin + reverse("failures")
    category = f"{browse}?category={failure.category}"
    trail = (("Failures", browse), (failure.category_name, category), (failure.title, url))
    graph = {"@context": "https://schema.org", "@graph": [_article(failure, url), _trail(trail)]}
    return json.dumps(graph, ensure_ascii=False).translate(_SCRIPT_ESCAPES)


def _article(failure: Failure, url: str) -> dict[str, object]:
    origin = settings.DENPEX_ORIGIN
    denpex = {"@type": "Organization", "name": "Denpex", "url": f"{origin}/"}
    return {
        "@type": "TechArticle",
        "headline": failure.title,
        "alternativeHeadline": failure.page_title,
        "description": failure.summary,
        "url": url,
        "mainEntityOfPage": url,
        "inLanguage": "en",
        "dateModified": failure.reviewed.isoformat(),
        "articleSection": failure.category_name,
        "keywords": [*failure.tags, *failure.systems],
        "image": origin + static(CARD),
        "author": denpex,
        "publisher": denpex,
    }


def _trail(steps: Sequence[tuple[str, str]]) -> dict[str, object]:
    return {
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": position, "name": name, "item": item}
            for position, (name, item) in enumerate(steps, start=1)
        ],
    }
