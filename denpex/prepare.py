"""Brings database, catalogue and static files up to date, all with one start of Django."""

from __future__ import annotations

import sys

import django
from django.core.management import CommandError, call_command

__all__ = ["main"]


def main() -> int:
    """Run the three commands of a new release; returns the exit status."""
    django.setup()
    try:
        call_command("migrate", interactive=False)
        call_command("collectstatic", interactive=False)
        call_command("load_failures")
    except CommandError as error:
        print(error, file=sys.stderr)
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
