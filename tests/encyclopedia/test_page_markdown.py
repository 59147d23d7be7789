"""The Markdown twin of a failure's page says what the page says, in the page's order."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from django.test import Client

from denpex.accounts.models import User
from encyclopedia import sync
from encyclopedia.catalogue import Catalogue, load
from encyclopedia.gate import INVITATION
from encyclopedia.models import Failure
from encyclopedia.rendering import fix_as_markdown

pytestmark = pytest.mark.usefixtures("failures")

ORIGIN = "https://denpex.example"
TWIN = "/failures/scratch-disk-full.md"
FENCED = re.compile(r"^( *)(`{3,}).*?^ *\2`*$", re.DOTALL | re.MULTILINE)


def twin_of(client: Client, slug: str) -> str:
    return client.get(f"/failures/{slug}.md").content.decode()


def headings_of_page(client: Client, slug: str) -> list[str]:
    page = client.get(f"/failures/{slug}/").content.decode()
    found = re.findall(
        r"<h2[^>]*>(.*?)</h2>", page[page.index("<article") :].split("</article>")[0]
    )
    return [html.unescape(heading) for heading in found]


def headings(twin: str) -> list[str]:
    return re.findall(r"^## (.+)$", FENCED.sub("", twin), re.MULTILINE)


def missing_in(twin: str, failure: Failure) -> list[str]:
    """Return what the page knows besides its sections, and the twin does not say."""
    facts = dict(failure.facts)
    monitors = facts.pop("monitor", None) or {}
    said = [failure.message, *facts.values(), *monitors.values()]
    said += [failure.fix.get(key) for key in ("command", "verify", "expect")]
    sentences = (failure.fix.get(key) or "" for key in ("summary", "infra"))
    said += [fix_as_markdown(sentence) for sentence in sentences]
    said += [each.tell_apart for each in failure.look_alikes.all()]
    said += [ORIGIN + code.get_absolute_url() for code in failure.codes.all()]
    neighbours = [*failure.follows.all(), *failure.leads_to.all()]
    neighbours += [each.other for each in failure.look_alikes.all()]
    neighbours += [failure.kind_of] if failure.kind_of else []
    said += [f"]({ORIGIN}{each.get_absolute_url()})" for each in neighbours]
    return [text for text in said if text and text.rstrip() not in twin]


def test_the_twin_of_every_page_has_its_headings_in_its_order_and_all_that_it_says(
    client: Client,
) -> None:
    sync.load_failures(load())
    for failure in Failure.objects.with_links():
        twin = twin_of(client, failure.slug)
        expected = headings_of_page(client, failure.slug)
        assert len(expected) >= 5, failure.slug
        assert headings(twin) == expected, failure.slug
        assert missing_in(twin, failure) == [], failure.slug


def test_the_answer_and_the_fix_come_first(client: Client) -> None:
    assert twin_of(client, "scratch-disk-full").startswith(
        "# Scratch Disk Full During a Save\n"
        "\n"
        "Storage · severity high · Can be the root cause · reviewed 2026-11-20\n"
        "\n"
        "Systems: PyTorch, Linux\n"
        "\n"
        "```\n"
        "[Errno 28] No space left on device\n"
        "```\n"
        "\n"
        "## Quick answer\n"
        "\n"
        "The save failed because the scratch file system has no free block left."
        " Delete old checkpoints and save again.\n"
        "\n"
        "### Fix, for ML engineers\n"
        "\n"
        "Delete old checkpoints on that disk and keep the last two from now on.\n"
        "\n"
        "Run:\n"
        "\n"
        "```\n"
        "rm -r /scratch/run-7/step-1*\n"
        "```\n"
    )


def test_one_line_says_what_an_account_opens_and_where(client: Client) -> None:
    twin = twin_of(client, "scratch-disk-full")
    assert f"## The full steps\n\n{INVITATION}" in twin
    assert "Here it adds: the fix step by step; prevention; code for your stack." in twin
    assert f"Sign up: {ORIGIN}/account/signup/?next=" in twin


def test_sections_that_an_account_opens_stand_in_its_twin_alone(client: Client) -> None:
    assert not {"Fix", "Prevent", "Code"} & {*headings(twin_of(client, "scratch-disk-full"))}
    client.force_login(User.objects.create_user("alice@example.com"))
    twin = twin_of(client, "scratch-disk-full")
    assert headings(twin) == headings_of_page(client, "scratch-disk-full")
    assert {"Fix", "Prevent", "Code"} <= {*headings(twin)}
    assert "A free account" not in twin


def test_text_with_fences_and_brackets_stays_what_it_is(
    client: Client, small_catalogue: Catalogue
) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    fix = replace(failure.fix, command="cat <<'.'\n```\n.\n")
    source = replace(failure.references[0], title="List [of errors]")
    changed = replace(failure, fix=fix, references=(source,))
    sync.load_failures(Catalogue({**small_catalogue.failures, failure.slug: changed}))

    twin = twin_of(client, "scratch-disk-full")

    assert "````\ncat <<'.'\n```\n.\n````" in twin
    assert r"- [List \[of errors\]](https://man7.org/" in twin


def test_a_twin_ends_with_the_address_of_its_page(client: Client) -> None:
    assert client.get(TWIN).content.decode().endswith(f"\n\n{ORIGIN}/failures/scratch-disk-full/\n")
