"""What of a failure everyone may read, and what opens with a free account.

Root cause, mechanism, quick answer and its fix in one line are everyone's. What is gated is left
out of every form of a page, not hidden in it. The gate is an invitation and no lock: the command
line's catalogue is whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from denpex.accounts.standing import tier_of
from denpex.accounts.tiers import Entitlement
from encyclopedia.catalogue import GATED_SECTIONS
from encyclopedia.models import Failure, SectionRow

__all__ = [
    "INVITATION",
    "first_gated_anchor",
    "gated_headings",
    "gated_parts",
    "log_in_address",
    "may_read_all",
    "readable_sections",
    "sign_up_address",
]

# The one line that says what an account gives.
INVITATION = (
    "A free account opens the full steps and the prevention on every page, and keeps your verdicts."
)

# What each section is called where a page says what an account adds to it.
_ADDED: Mapping[str, str] = {
    "Fix": "the fix step by step",
    "Prevent": "prevention",
    "Code": "code for your stack",
}


def may_read_all(request: HttpRequest) -> bool:
    """Decide whether who asks may read the full remediation.

    A request without a session is nobody's, and costs no look-up.
    """
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if key is None:
        return False
    if request.user.is_authenticated:
        return tier_of(request.user).may(Entitlement.FULL_FIX)
    # As it came: the end of a session is told by a cookie, and a public page carries none.
    request.session = type(request.session)(key)
    return False


def readable_sections(failure: Failure, *, whole: bool) -> Sequence[SectionRow]:
    """Return the sections of a page that may be read, in their order."""
    return [s for s in failure.sections if whole or s["heading"] not in GATED_SECTIONS]


def gated_headings(failure: Failure, *, whole: bool) -> list[str]:
    """Name the sections of a page that are left out, in their order."""
    return [s["heading"] for s in failure.sections if not whole and s["heading"] in GATED_SECTIONS]


def gated_parts(failure: Failure) -> list[str]:
    """Say in words what an account adds to a page."""
    return [_ADDED[heading] for heading in gated_headings(failure, whole=False)]


def first_gated_anchor(failure: Failure) -> str:
    """Return where on a page begins what an account opens; "" where nothing does."""
    gated = (s["anchor"] for s in failure.sections if s["heading"] in GATED_SECTIONS)
    return next(gated, "")


def sign_up_address(failure: Failure) -> str:
    """Return where an account is made, with the way back to what it opens."""
    return f"{reverse('account_signup')}?{urlencode({'next': _way_back(failure)})}"


def log_in_address(failure: Failure) -> str:
    """Return where an account is entered, with the way back to what it opens."""
    return f"{reverse('account_login')}?{urlencode({'next': _way_back(failure)})}"


def _way_back(failure: Failure) -> str:
    anchor = first_gated_anchor(failure)
    return failure.get_absolute_url() + (f"#{anchor}" if anchor else "")
