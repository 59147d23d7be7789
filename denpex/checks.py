"""System checks: a wrong setting is found before a request finds it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004

__all__ = ["check_environment", "check_https"]


@register(Tags.security)
def check_environment(**_kwargs: Any) -> list[CheckMessage]:
    """Report what `denpex.environment` could not read or did not find."""
    return [
        Error(problem.message, hint=problem.hint, id=problem.id)
        for problem in settings.ENVIRONMENT.problems
    ]


@register(Tags.security, deploy=True)
def check_https(**_kwargs: Any) -> list[CheckMessage]:
    """Warn where a deployed site would send its cookies over plain HTTP."""
    if settings.ENVIRONMENT.https:
        return []
    hint = "Serve the site over HTTPS and leave DENPEX_HTTPS unset."
    return [Warning("DENPEX_HTTPS is 0: cookies travel unprotected", hint=hint, id="denpex.W001")]
