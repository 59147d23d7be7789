"""Structured data that search engines accept."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from encyclopedia import sync
from encyclopedia.catalogue import Catalogue, load
from encyclopedia.models import Failure
from encyclopedia.structured_data import json_ld

pytestmark = pytest.mark.usefixtures("failures")

PAGE = "/failures/scratch-disk-full/"
# https://schema.org/TechArticle: what we say, of what may be said of one; the type of each value.
ARTICLE: dict[str, type] = {
    "@type": str,
    "headline": str,
    "alternativeHeadline": str,
    "description": str,
    "url": str,
    "mainEntityOfPage": str,
    "inLanguage": str,
    "dateModified": str,
    "articleSection": str,
    "keywords": list,
    "image": str,
    "author": dict,
    "publisher": dict,
}


def graph_of(client: Client, address: str) -> list[dict[str, Any]]:
    page = client.get(address).content.decode()
    found = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    data = json.loads(found[0])
    assert data["@context"] == "https://schema.org"
    graph: list[dict[str, Any]] = data["@graph"]
    return graph


def test_the_page_is_a_technical_article(client: Client) -> None:
    article, _trail = graph_of(client, PAGE)
    assert article["@type"] == "TechArticle"
    assert article["url"] == "https://denpex.example" + PAGE
    assert article["dateModified"] == "2026-11-20"
    assert article["author"] == {
        "@type": "Organization",
        "name": "Denpex",
        "url": "https://denpex.example/",
    }


def test_the_trail_leads_from_all_failures_to_the_page(client: Client) -> None:
    _article, trail = graph_of(client, PAGE)
    assert trail["@type"] == "BreadcrumbList"
    assert [(each["position"], each["name"]) for each in trail["itemListElement"]] == [
        (1, "Failures"),
        (2, "Storage"),
        (3, "Scratch Disk Full During a Save"),
    ]
    for each in trail["itemListElement"]:
        assert client.get(each["item"].removeprefix("https://denpex.example")).status_code == 200


def test_the_data_of_every_page_of_the_catalogue_is_whole() -> None:
    sync.load_failures(load())
    for failure in Failure.objects.all():
        article, trail = json.loads(json_ld(failure))["@graph"]
        assert {key: type(value) for key, value in article.items()} == ARTICLE
        assert all(article.values())
        assert dt.date.fromisoformat(article["dateModified"])
        assert len(article["headline"]) <= 110  # what Google shows of one
        assert len(trail["itemListElement"]) == 3


def test_a_title_cannot_close_the_script(small_catalogue: Catalogue) -> None:
    failure = replace(small_catalogue.failures["peer-closed"], title="</script><b>&")
    sync.load_failures(Catalogue({**small_catalogue.failures, "peer-closed": failure}))
    data = json_ld(Failure.objects.get(slug="peer-closed"))
    assert "<" not in data
    assert json.loads(data)["@graph"][0]["headline"] == "</script><b>&"
