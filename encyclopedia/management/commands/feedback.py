"""`manage.py feedback`: which pages were not what their readers had."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db.models import Q, Sum
from django.db.models.functions import Coalesce

from diagnosis.visitors import today
from encyclopedia.models import Failure


class Command(BaseCommand):
    """Lists the answers to "Was this it?", the pages with most refusals first."""

    help = 'Print how often readers of each page said yes and no to "Was this it?".'

    def add_arguments(self, parser: CommandParser) -> None:
        """Accept how many days to look back."""
        parser.add_argument("--days", type=int, default=30, help="days to look back (30)")

    def handle(self, *_args: Any, days: int, **_options: Any) -> None:
        """Print one line for each page that was answered."""
        since = Q(feedback__day__gt=today() - dt.timedelta(days=days))
        answered = (
            Failure.objects.annotate(
                yes=Coalesce(Sum("feedback__count", filter=since & Q(feedback__answer="yes")), 0),
                no=Coalesce(Sum("feedback__count", filter=since & Q(feedback__answer="no")), 0),
            )
            .exclude(yes=0, no=0)
            .order_by("-no", "yes", "slug")
            .values_list("yes", "no", "slug")
        )
        for yes, no, slug in answered:
            self.stdout.write(f"{yes:6} yes {no:6} no  {slug}")
