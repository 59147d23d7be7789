"""The database of failures: filled from the catalogue's files by `sync`, and only from there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Self, TypedDict

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVectorField
from django.db import models
from django.db.models import Case, Count, ExpressionWrapper, F, Value, When
from django.db.models.functions import Length, Sqrt
from django.urls import reverse

from encyclopedia import index
from encyclopedia.catalogue import SEVERITIES, SHORT_PAGE
from encyclopedia.categories import CATEGORY_NAMES
from encyclopedia.codes import Kind, compact

__all__ = ["Alias", "Code", "Failure", "Feedback", "LoadedCatalogue", "LookAlike", "SectionRow"]


# What lists of failures show.
_LISTED = (
    "slug",
    "title",
    "category",
    "severity",
    "message",
    "line",
    "tags",
    "systems",
    "reviewed",
)

# How much a question counts that a title says in full, by the square root of the title's length.
_TITLE = 2.0
_TITLE_OF_A_KIND = 1.7


class SectionRow(TypedDict):
    """A section of a failure's page, as `Failure.sections` holds it."""

    heading: str
    anchor: str
    html: str
    markdown: str


def _gravity() -> Case:
    """Return the place of a severity among all, 0 for the gravest."""
    ranks = [When(severity=name, then=Value(rank)) for rank, name in enumerate(SEVERITIES)]
    return Case(*ranks, output_field=models.SmallIntegerField())


class FailureQuerySet(models.QuerySet["Failure"]):
    """Queries that more than one page asks."""

    def listed(self) -> Self:
        """Load what lists of failures show, and not the pages themselves."""
        return self.only(*_LISTED)

    def with_links(self) -> Self:
        """Load with each failure all that its documents name, in a handful of queries."""
        return self.select_related("kind_of").prefetch_related(
            "codes", "follows", "leads_to", "look_alikes__other"
        )

    def gravest_first(self) -> Self:
        """List by severity, then by title."""
        return self.listed().order_by(_gravity(), "title")

    def named(self, slug: str) -> Failure | None:
        """Return the failure with this slug, or that once had it; None where there is none."""
        current = self.filter(slug=slug).first()
        return current or self.filter(aliases__slug=slug).first()

    def coded(self, key: str | None) -> Failure | None:
        """Return the failure with the code of this key (see `codes`); None where there is none."""
        return self.filter(codes__compact=compact(key)).first() if key else None

    def in_order_of(self, slugs: Sequence[str]) -> tuple[Failure, ...]:
        """Return the failures with these slugs in their order, without those that are not here."""
        found = {failure.slug: failure for failure in self.listed().filter(slug__in=slugs)}
        return tuple(found[slug] for slug in slugs if slug in found)

    def counts(self) -> list[tuple[str, str, int]]:
        """Return key, name and number of failures of each category that has any."""
        found = dict(self.order_by().values_list("category").annotate(Count("pk")))
        return [(key, name, found[key]) for key, name in CATEGORY_NAMES.items() if key in found]

    def printing_in(self, category: str) -> Self:
        """List the failures of a category that print anything, with what they print."""
        printing = self.filter(category=category).exclude(wordings=[])
        return printing.only("slug", "title", "severity", "wordings").order_by("title")

    def saying(self, text: str, *, at_least: float) -> Self:
        """List the failures whose pages have at least this share of the words of `text`."""
        shared = self.filter(search=index.any_word(text)).annotate(said=index.share_of_words(text))
        return shared.filter(said__gte=at_least)

    def best_for(self, words: SearchQuery, any_word: SearchQuery) -> Self:
        """List by how well the text fits `words`, and by how many of them the title says.

        A general failure comes before its kinds where their titles say the same. Among equals
        come the gravest, then the shortest title.
        """
        fit = SearchRank(F("search"), words, weights=index.WEIGHTS)
        title = SearchRank(F("search"), any_word, weights=index.TITLE_ALONE)
        general = Case(When(kind_of=None, then=Value(_TITLE)), default=Value(_TITLE_OF_A_KIND))
        rank = fit + general * title / Sqrt(Length("title"))
        return (
            self.listed()
            .annotate(rank=ExpressionWrapper(rank, output_field=models.FloatField()))
            .order_by("-rank", _gravity(), Length("title"), "slug")
        )

    def stated_in(self, text: str) -> Self:
        """List the failures that words of `text` state, those with the longest message first."""
        printing = self.listed().exclude(stated_by="").annotate(text=Value(text))
        return printing.filter(text__icontains=F("stated_by")).order_by(
            Length("stated_by").desc(), "slug"
        )

    def related_to(self, failure: Failure) -> Self:
        """Return the other failures of the same category."""
        return self.filter(category=failure.category).exclude(pk=failure.pk)


class Failure(models.Model):
    """One failure as its page needs it; `sections` holds HTML that is already safe."""

    slug = models.CharField(max_length=120, unique=True)
    title = models.TextField()
    category = models.CharField(max_length=40)
    severity = models.CharField(max_length=10)
    role = models.CharField(max_length=12)
    tags = ArrayField(models.TextField(), default=list)
    systems = ArrayField(models.TextField(), default=list)
    message = models.TextField(blank=True)  # the fixed part of what it prints
    stated_by = models.TextField(blank=True)  # the message, where its words alone state the failure
    line = models.TextField(blank=True)  # the line that lists show
    wordings = ArrayField(models.TextField(), default=list)  # lines that it prints
    page_title = models.TextField()
    summary = models.TextField()  # the quick answer as plain text
    sections: models.JSONField[list[SectionRow], list[SectionRow]] = models.JSONField(default=list)
    facts = models.JSONField(default=dict)
    fix = models.JSONField(default=dict)
    references = models.JSONField(default=list)
    reviewed = models.DateField()
    kind_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="kinds")
    follows = models.ManyToManyField("self", symmetrical=False, related_name="leads_to")
    content_hash = models.CharField(max_length=64)
    changed_at = models.DateTimeField()  # when the file last said something else
    search = SearchVectorField(null=True)

    objects = FailureQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["slug"]
        indexes: ClassVar = [
            models.Index(fields=["category"]),
            GinIndex(fields=["search"], name="failure_search"),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """Return the path of the page."""
        return reverse("failure", args=[self.slug])

    @property
    def is_short(self) -> bool:
        """Say whether the page holds no more than the answer and the messages, for now."""
        return tuple(section["heading"] for section in self.sections) == SHORT_PAGE

    def mistaken_for(self) -> FailureQuerySet:
        """Return the failures that name this one as a look-alike."""
        return Failure.objects.listed().filter(look_alikes__other=self).order_by("title")

    @property
    def category_name(self) -> str:
        """The category as people read it."""
        return CATEGORY_NAMES[self.category]


class LookAlike(models.Model):
    """A neighbouring failure, and the fact that tells it apart."""

    failure = models.ForeignKey(Failure, models.CASCADE, related_name="look_alikes")
    other = models.ForeignKey(Failure, models.CASCADE, related_name="looked_like_by")
    tell_apart = models.TextField()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["failure", "other"], name="look_alike_once")
        ]

    def __str__(self) -> str:
        return f"{self.failure} looks like {self.other}"


class Alias(models.Model):
    """A slug that a failure once had; its address redirects for ever."""

    slug = models.CharField(max_length=120, unique=True)
    failure = models.ForeignKey(Failure, models.CASCADE, related_name="aliases")

    def __str__(self) -> str:
        return f"{self.slug} → {self.failure}"


class CodeQuerySet(models.QuerySet["Code"]):
    """Queries of codes."""

    def of_kind(self, kind: Kind) -> tuple[Code, ...]:
        """Return the codes of one kind in the order of their numbers, else of their names."""
        found = [code for code in self.select_related("failure") if kind.has(code.key)]
        return tuple(sorted(found, key=_place_of_code))


def _place_of_code(code: Code) -> tuple[int, str]:
    numbers = re.findall(r"\d+", code.key)
    return (int(numbers[0]) if numbers else 0, code.key)


class Code(models.Model):
    """A code by which people name a failure: `key` stands in its short address."""

    key = models.CharField(max_length=80, unique=True)
    compact = models.CharField(max_length=80, unique=True)  # the key without its hyphens
    label = models.TextField()  # as people write it
    failure = models.ForeignKey(Failure, models.CASCADE, related_name="codes")

    objects = CodeQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.label} → {self.failure}"

    def get_absolute_url(self) -> str:
        """Return the short address."""
        return reverse("code", args=[self.key])


class Feedback(models.Model):
    """How often readers of a page said on one day (UTC) that it was, or was not, what they had."""

    failure = models.ForeignKey(Failure, models.CASCADE, related_name="feedback")
    day = models.DateField()
    answer = models.CharField(max_length=3)
    count = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["failure", "day", "answer"], name="feedback_unique")
        ]

    def __str__(self) -> str:
        return f"{self.failure}, {self.day}: {self.count} {self.answer}"


class LoadedCatalogue(models.Model):
    """What was loaded last: one row. Pages stored under another fingerprint are stale."""

    fingerprint = models.CharField(max_length=64)
    loaded_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.fingerprint

    @classmethod
    def current_fingerprint(cls) -> str:
        """Return the fingerprint of the loaded catalogue, or "" where none was loaded yet."""
        return cls.objects.values_list("fingerprint", flat=True).first() or ""
