"""The encyclopedia's pages as a visitor reads them."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace

import pytest
from django.test import Client

from diagnosis.visitors import today
from encyclopedia import sync
from encyclopedia.catalogue import Catalogue, load
from encyclopedia.rendering import plain_text

pytestmark = pytest.mark.usefixtures("failures")

PAGE = "/failures/scratch-disk-full/"


def text_of(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status, address
    return response.content.decode()


def headings(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>([^<]*)</h2>", page[page.index("<article") :])


# Browse


def test_it_works(client: Client) -> None:
    page = text_of(client, "/failures/")
    assert "3 failures, each with its messages" in page
    assert page.index('id="category-communication"') < page.index('id="category-storage"')
    assert '<a class="failure-item-title" href="/failures/peer-closed/">' in page
    assert (
        '<code class="failure-item-message">OSError: [Errno 28] No space left on device</code>'
        in page
    )


def test_the_gravest_failure_of_a_category_stands_first(client: Client) -> None:
    page = text_of(client, "/failures/?category=storage")
    assert "<h1>Storage failures</h1>" in page
    assert page.index("Scratch Disk Full") < page.index("Scratch Quota Exceeded")
    assert "peer-closed" not in page


def test_filters_are_named_in_title_and_heading(client: Client) -> None:
    page = text_of(client, "/failures/?category=storage&system=linux&tag=disk&severity=high")
    assert "<title>Failures: Storage, High, Linux, Disk · Denpex</title>" in page
    assert "<h1>Storage failures with Linux, tagged Disk, high severity</h1>" in page
    assert '1 of 3 failures. <a href="/failures/">Show all</a>.' in page


def test_a_list_of_one_category_is_not_headed_by_it_once_more(client: Client) -> None:
    assert 'id="category-storage"' in text_of(client, "/failures/?system=linux")
    assert 'id="category-storage"' not in text_of(client, "/failures/?category=storage")


def test_a_long_filter_is_folded_and_names_what_is_chosen(
    client: Client, failures: Catalogue
) -> None:
    one = failures.failures["scratch-disk-full"]
    systems = tuple(f"System {number}" for number in range(14))
    slugs = ("scratch-disk-full", "scratch-quota-exceeded")
    changed = {
        slug: replace(failures.failures[slug], systems=(*one.systems, *systems)) for slug in slugs
    }
    sync.load_failures(Catalogue({**failures.failures, **changed}))

    assert '<details class="fold"><summary>16 to choose from</summary>' in text_of(
        client, "/failures/"
    )
    page = text_of(client, "/failures/?system=system-3")
    assert '<details class="fold"><summary>System 3 · change</summary>' in page


def test_a_filter_without_a_failure_says_so(client: Client) -> None:
    page = text_of(client, "/failures/?category=serving")
    assert "No failure here." in page
    assert 'href="/failures/">Show all 3</a>' in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("category=weather", "category <q>weather</q>"),
        ("severity=mild", "severity <q>mild</q>"),
        ("category=<b> OR 1=1", "category <q>&lt;b&gt; OR 1=1</q>"),
        ("sort=luck", "order <q>luck</q>"),
        ("tag=none", "tag <q>none</q>"),
    ],
)
def test_an_unknown_filter_is_a_404_that_names_it_above_the_list(
    client: Client, query: str, said: str
) -> None:
    page = text_of(client, f"/failures/?{query}", status=404)
    assert f"There is no {said}" in page
    assert PAGE in page
    assert "noindex" in page


def test_beside_an_unknown_filter_the_known_ones_count(client: Client) -> None:
    page = text_of(client, "/failures/?category=storage&severity=mild", status=404)
    assert "<h1>Storage failures</h1>" in page
    assert 'href="/failures/peer-closed/"' not in page


def test_an_empty_encyclopedia_can_be_opened(client: Client) -> None:
    from encyclopedia.models import Failure

    Failure.objects.all().delete()
    assert "No failure here." in text_of(client, "/failures/?severity=low")


@pytest.mark.parametrize("query", ["", "?category=storage", "?system=linux", "?tag=disk"])
def test_one_filter_is_a_page_for_search_engines(client: Client, query: str) -> None:
    page = text_of(client, f"/failures/{query}")
    assert f'<link rel="canonical" href="https://denpex.example/failures/{query}">' in page
    assert "noindex" not in page


@pytest.mark.parametrize("query", ["?sort=title", "?category=storage&severity=high"])
def test_combinations_are_none(client: Client, query: str) -> None:
    page = text_of(client, f"/failures/{query}")
    assert '<meta name="robots" content="noindex, follow">' in page
    assert "canonical" not in page


def test_every_message_stands_on_one_page_with_its_link(client: Client) -> None:
    page = text_of(client, "/errors/")
    assert '<link rel="canonical" href="https://denpex.example/errors/">' in page
    at = page.index("<code>[rank3]: OSError: [Errno 28] No space left on device</code>")
    assert page.index(f'<a href="{PAGE}">') < at < page.index("/failures/scratch-quota-exceeded/")


def test_the_page_of_all_messages_leads_to_each_category_and_back(client: Client) -> None:
    page = text_of(client, "/errors/")
    contents = page[: page.index('<section class="messages"')]
    assert '<a href="#category-storage">Storage <span class="count">2</span></a>' in contents
    assert page.count('<a href="#top">Back to the top</a>') == page.count('class="messages"')


# Search


def test_a_search_lists_what_it_finds(client: Client) -> None:
    page = text_of(client, "/failures/?q=space+left")
    assert "<h2>1 failure</h2>" in page
    assert "/failures/scratch-disk-full/" in page
    assert 'value="space left"' in page


def test_the_most_that_a_search_lists_are_called_the_best(
    client: Client, failures: Catalogue
) -> None:
    one = failures.failures["scratch-disk-full"]
    slugs = [f"full-{number}" for number in range(26)]
    copies = {
        slug: replace(one, slug=slug, title=f"Full {slug}", aliases=(), looks_like=(), codes=())
        for slug in slugs
    }

    def heading(number: int) -> str:
        sync.load_failures(Catalogue(dict(list(copies.items())[:number])))
        return text_of(client, "/failures/?q=space+left")

    assert "<h2>25 failures</h2>" in heading(25)
    page = heading(26)
    assert "<h2>The 25 best matches</h2>" in page
    assert page.count('<li class="failure-item">') == 25


@pytest.mark.usefixtures("_asks_the_small_engine")
def test_a_line_of_a_log_leads_straight_to_its_page(client: Client) -> None:
    line = "[rank3]: OSError: [Errno 28] No space left on device: '/data/x.pt'"

    response = client.get("/failures/", {"q": line})

    assert response.status_code == 302
    assert response["Location"] == PAGE


def test_a_line_that_holds_the_message_of_a_page_leads_to_it(client: Client) -> None:
    page = client.get("/failures/", {"q": "tar: [errno 28] no space left on device (tar)"}).text

    assert "This page is about the message in your text" in page
    assert "No page has all of these words" not in page


def test_a_name_leads_straight_to_its_page(client: Client) -> None:
    response = client.get("/failures/?q=disk-full")
    assert response.status_code == 302
    assert response["Location"] == PAGE


def test_a_search_in_vain_offers_the_paste_box(client: Client) -> None:
    page = text_of(client, "/failures/?q=zzzz")
    assert "Nothing found" in page
    assert 'name="log"' in page


def test_a_misspelt_search_says_what_it_looked_for(client: Client) -> None:
    page = text_of(client, "/failures/?q=scrach+disk")
    assert "Read as <q>scratch disk</q>" in page
    assert PAGE in page


@pytest.mark.usefixtures("_asks_the_small_engine")
def test_a_pasted_log_finds_its_page_and_is_offered_a_diagnosis(client: Client) -> None:
    log = "step 12\n" * 40 + "OSError: [Errno 28] No space left on device"
    page = client.get("/failures/", {"q": log}).text
    assert "This page is about the message in your text" in page
    assert "Diagnose this" in page
    assert f"\n{log}</textarea>" in plain_newlines(page).replace("&#x27;", "'")


def test_a_search_for_a_long_text_says_that_its_end_was_searched_for(client: Client) -> None:
    short, long = ("zzzz line\n" * count + "the end" for count in (50, 500))
    said = "Only its end was searched for"
    assert said not in client.get("/failures/", {"q": short}).text
    page = client.get("/failures/", {"q": long}).text
    assert f"{said}: the last 3997 of 5007 characters, from <q>zzzz line\nzzzz line" in page
    assert "<h1>Search: a piece of a log</h1>" in page
    assert f"\n{long}</textarea>" in plain_newlines(page)


def test_a_search_for_one_long_line_says_from_which_word_on(client: Client) -> None:
    line = "beginning " * 500 + "middle " + "x" * 3900
    page = client.get("/failures/", {"q": line}).text
    assert "of 8907 characters, from <q>beginning beginning" in page
    assert f"\n{line}</textarea>" in page


def plain_newlines(page: str) -> str:
    return page.replace("\r\n", "\n")


def test_what_is_typed_gets_suggestions(client: Client) -> None:
    response = client.get("/failures/suggestions.json?q=scratch+di")
    assert response.json()["suggestions"][0] == {
        "title": "Scratch Disk Full During a Save",
        "url": PAGE,
        "severity": "high",
        "message": "[Errno 28] No space left on device",
    }


# Short addresses


@pytest.fixture
def _coded(failures: Catalogue, small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["scratch-disk-full"]
    changed = replace(failure, codes=("Xid 79", "OOMKilled"))
    sync.load_failures(Catalogue({**small_catalogue.failures, failure.slug: changed}))


@pytest.mark.parametrize("code", ["xid-79", "xid79", "Xid-79", "oom-killed", "OOMKilled"])
@pytest.mark.usefixtures("_coded")
def test_a_short_address_leads_to_the_page_of_its_code(client: Client, code: str) -> None:
    for address in (f"/f/{code}", f"/f/{code}/"):
        response = client.get(address)
        assert response.status_code == 302
        assert response["Location"] == PAGE


@pytest.mark.parametrize("code", ["xid-79", "xid-31", "exit-137", "sigbus", "cuda-700"])
def test_the_codes_that_people_know_lead_to_pages(client: Client, code: str) -> None:
    sync.load_failures(load())
    assert client.get(f"/f/{code}", follow=True).status_code == 200


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("xid-999", "No page is about Xid 999"),
        ("exit-1", "No page is about exit code 1"),
        ("signal-64", "No page is about signal 64"),
        ("cuda-998", "No page is about CUDA error 998"),
        ("no-space-left", "Scratch Disk Full During a Save"),
        ("zzzz", "No page speaks of <q>zzzz</q>"),
        ("_", "There is no word in"),
    ],
)
@pytest.mark.usefixtures("_coded")
def test_a_code_without_a_page_is_a_404_that_says_what_its_search_says(
    client: Client, code: str, says: str
) -> None:
    response = client.get(f"/f/{code}")
    assert response.status_code == 404
    assert response["Cache-Control"] == "no-store"
    page = response.content.decode()
    assert f"<h1>No page has the short address <q>/f/{code}</q></h1>" in page
    assert says in page
    assert 'id="q" type="search" name="q"' in page
    assert ('name="log"' in page) == (code != "no-space-left")


def test_a_number_alone_is_led_to_the_pages_of_its_codes(client: Client) -> None:
    sync.load_failures(load())
    page = text_of(client, "/f/137", status=404)
    assert client.get("/f/exit-137")["Location"] in page


def test_a_name_as_a_short_address_leads_to_its_page(client: Client) -> None:
    assert client.get("/f/disk-full")["Location"] == PAGE


@pytest.mark.usefixtures("_coded")
def test_a_code_that_nobody_knows_is_answered_with_those_that_are_and_the_paste_box(
    client: Client,
) -> None:
    page = text_of(client, "/failures/?q=Xid+999")
    assert "No page is about Xid 999" in page
    assert f'<a class="unbroken" href="{PAGE}">Xid 79</a>' in page
    assert "OOMKilled" not in page
    assert 'name="log"' in page
    assert "Nothing found" not in page


def test_an_empty_list_offers_the_nearest_the_wider_and_the_paste_box(client: Client) -> None:
    page = text_of(client, "/failures/?category=communication&severity=high")
    assert '<h2 id="nearest">The nearest</h2>' in page
    assert '<a class="failure-item-title" href="/failures/peer-closed/">' in page
    assert '<a href="/failures/?severity=high">High alone: 1</a>' in page
    assert 'name="log"' in page
    assert 'name="log"' not in text_of(client, "/failures/?category=communication")


@pytest.mark.parametrize("query", ["q=space", "q=zzzz", "q=Xid+999"])
def test_a_search_says_that_the_filters_of_its_address_do_not_narrow_it(
    client: Client, query: str
) -> None:
    said = "This search looks at all failures"
    page = text_of(client, f"/failures/?{query}&category=storage&severity=high")
    assert said in page
    assert '<a href="/failures/?category=storage&amp;severity=high">Storage, High</a>' in page
    assert said not in text_of(client, f"/failures/?{query}")
    assert said not in text_of(client, f"/failures/?{query}&category=weather")


def test_a_search_is_shown_as_text(client: Client) -> None:
    page = text_of(client, "/failures/?q=<script>alert(1)</script>")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


# A failure


def test_a_page_names_its_address_its_twins_and_its_card(client: Client) -> None:
    page = text_of(client, PAGE)
    address = f"https://denpex.example{PAGE}"
    assert f'<link rel="canonical" href="{address}">' in page
    assert f'<meta property="og:url" content="{address}">' in page
    assert '<meta property="og:type" content="article">' in page
    assert re.search(r'og:image" content="https://denpex.example/static/img/card\.\w+\.png"', page)
    assert 'type="text/markdown" href="/failures/scratch-disk-full.md"' in page
    assert 'type="application/json" href="/failures/scratch-disk-full.json"' in page
    assert 'type="application/atom+xml"' in page


def test_the_answer_comes_first_and_references_last(client: Client) -> None:
    assert headings(text_of(client, PAGE)) == [
        "Quick answer",
        "What you saw",
        "Is it this?",
        "Not this if",
        "Is this what broke your run? Paste your log.",
        "Why it happens",
        "The full steps",
        "Symptoms",
        "In your role",
        "At a glance",
        "What to watch",
        "Before and after",
        "Was this it?",
        "References",
        "Keys",
    ]


def test_a_part_without_content_is_left_out(client: Client) -> None:
    found = headings(text_of(client, "/failures/scratch-quota-exceeded/"))
    assert not {"Code", "At a glance", "What to watch", "Before and after"} & set(found)


def test_a_short_page_says_so(client: Client, small_catalogue: Catalogue) -> None:
    failure = small_catalogue.failures["peer-closed"]
    short = replace(failure, sections=failure.sections[:2])
    sync.load_failures(Catalogue({**small_catalogue.failures, "peer-closed": short}))
    found = headings(text_of(client, "/failures/peer-closed/"))
    assert found[:3] == ["Quick answer", "What you saw", "This page is short"]
    assert "This page is short" not in headings(text_of(client, PAGE))


def test_the_title_holds_the_message(client: Client) -> None:
    page = text_of(client, PAGE)
    assert "<title>PyTorch: [Errno 28] No space left on device" in page
    assert '<pre class="message" data-copy><code>[Errno 28] No space left on device' in page


def test_the_fix_and_its_check_can_be_copied(client: Client) -> None:
    words = plain_text(text_of(client, PAGE))
    assert "Run rm -r /scratch/run-7/step-1*" in words
    assert "Fix, for infrastructure Alert at 90 %" in words
    assert "Verify df -h /scratch" in words
    assert "Expect: less than 90 % in the column Use%" in words
    assert "Delete old checkpoints on that disk" in words
    assert "<path>" not in words


def test_each_role_has_its_part_and_an_address_for_it(client: Client) -> None:
    page = text_of(client, PAGE)
    assert '<details class="role" name="role" open data-choice="on-call">' in page
    assert '<details class="role" name="role" data-choice="executive">' in page
    assert '<a href="#on-call">on call</a> · <a href="#executive">executive</a>' in page
    assert '<a href="#executive">' not in text_of(client, "/failures/peer-closed/")


def test_a_page_says_when_it_was_reviewed_and_when_that_is_long_ago(
    client: Client, small_catalogue: Catalogue
) -> None:
    old = replace(small_catalogue.failures["peer-closed"], reviewed=dt.date(2020, 2, 1))
    recent = replace(small_catalogue.failures["scratch-disk-full"], reviewed=today())
    changed = {"peer-closed": old, "scratch-disk-full": recent}
    sync.load_failures(Catalogue({**small_catalogue.failures, **changed}))
    assert "Not reviewed since <time" in text_of(client, "/failures/peer-closed/")
    assert "<span>Reviewed <time" in text_of(client, PAGE)


def test_html_in_a_failure_file_is_shown_as_text(client: Client) -> None:
    page = text_of(client, PAGE)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_edges_are_shown_on_both_pages(client: Client) -> None:
    cause = text_of(client, PAGE)
    effect = text_of(client, "/failures/peer-closed/")
    assert "/failures/peer-closed/" in cause[cause.index("What follows from it") :]
    assert PAGE in effect[effect.index("What may have failed before it") :]


def with_causes(catalogue: Catalogue, number: int) -> Catalogue:
    """Return the catalogue with as many causes of peer-closed: cause-1, cause-2, …"""
    slugs = tuple(f"cause-{index}" for index in range(1, number + 1))
    cause, effect = catalogue.failures["scratch-disk-full"], catalogue.failures["peer-closed"]
    causes = {slug: replace(cause, slug=slug, aliases=(), looks_like=()) for slug in slugs}
    changed = {"peer-closed": replace(effect, consequence_of=slugs)}
    return Catalogue({**catalogue.failures, **causes, **changed})


def causes_of(client: Client) -> str:
    page = text_of(client, "/failures/peer-closed/")
    return page[page.index("What may have failed before it") : page.index('id="references"')]


def test_a_list_of_six_causes_is_open(client: Client, failures: Catalogue) -> None:
    sync.load_failures(with_causes(failures, 6))
    listed = causes_of(client)
    assert listed.count('<li><a href="/failures/cause-') == 6
    assert "<details" not in listed


def test_a_longer_list_of_causes_is_folded(client: Client, failures: Catalogue) -> None:
    sync.load_failures(with_causes(failures, 7))
    listed = causes_of(client)
    folded = listed[listed.index("<details") : listed.index("</details>")]
    assert "<summary>7 failures, the gravest first</summary>" in folded
    assert folded.count('<li><a href="/failures/cause-') == 7


def test_look_alikes_are_linked_from_both_pages(client: Client) -> None:
    assert '<dt><a href="/failures/scratch-quota-exceeded/">' in text_of(client, PAGE)
    assert f"{PAGE}#not-this-if" in text_of(client, "/failures/scratch-quota-exceeded/")


def test_a_failure_that_is_no_cause_says_so(client: Client) -> None:
    assert "A consequence: something else failed first." in text_of(
        client, "/failures/peer-closed/"
    )
    assert "role-note" not in text_of(client, PAGE)


def test_the_badge_of_a_summary_does_not_speak_of_the_page(
    client: Client, small_catalogue: Catalogue
) -> None:
    failure = replace(small_catalogue.failures["peer-closed"], role="summary")
    sync.load_failures(Catalogue({**small_catalogue.failures, failure.slug: failure}))
    page = text_of(client, "/failures/peer-closed/")
    assert '<span class="badge badge--summary">launcher&#x27;s report</span>' in page
    assert "A launcher&#x27;s report" in page


def test_the_paste_box_names_the_failure(client: Client) -> None:
    page = text_of(client, PAGE)
    assert '<form class="paste" action="/diagnose/" method="post"' in page
    assert '<input type="hidden" name="failure" value="scratch-disk-full">' in page
    assert "No log to hand?" not in page


@pytest.mark.parametrize("suffix", ["/", ".md", ".json"])
def test_an_older_slug_redirects_for_ever(client: Client, suffix: str) -> None:
    response = client.get(f"/failures/disk-full{suffix}")
    assert response.status_code == 301
    assert response["Location"] == f"/failures/scratch-disk-full{suffix}"


@pytest.mark.parametrize("suffix", ["/", ".md", ".json"])
def test_an_unknown_slug_is_a_404(client: Client, suffix: str) -> None:
    text_of(client, f"/failures/no-such{suffix}", status=404)


def test_a_page_that_is_known_already_is_not_sent_again(client: Client) -> None:
    etag = client.get(PAGE)["ETag"]
    assert client.get(PAGE, headers={"If-None-Match": etag}).status_code == 304
