"""`manage.py load_failures`: fills the database of failures from their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from encyclopedia import sync
from encyclopedia.catalogue import FAILURES, CatalogueError, load, problems


class Command(BaseCommand):
    """Loads all failure files or, where one of them is wrong, none."""

    help = "Fill the encyclopedia from the failure files (all or nothing; may be run at any time)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Accept another folder than the catalogue's own."""
        parser.add_argument("folder", nargs="?", type=Path, default=FAILURES)

    def handle(self, *_args: Any, folder: Path, **_options: Any) -> None:
        """Load `folder` and say what changed; raises CommandError where a file is wrong."""
        try:
            catalogue = load(folder)
        except CatalogueError as error:
            raise CommandError(str(error)) from error
        if not catalogue.failures:
            raise CommandError(f"there is no failure file below {folder}; nothing was loaded")
        if found := [str(problem) for problem in problems(catalogue, folder)]:
            raise CommandError("\n".join(("nothing was loaded:", *found)))
        report = sync.load_failures(catalogue)
        self.stdout.write(
            f"{len(catalogue)} failures: {len(report.added)} added, {len(report.changed)} changed,"
            f" {len(report.removed)} removed, {len(report.unchanged)} unchanged"
        )
