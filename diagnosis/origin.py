"""Whether a form was sent from a page of this site.

The paste form stands on pages that every visitor gets byte for byte alike, so it can carry no
token. Browsers say themselves where a request comes from; a program that says nothing acts for its
user.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest

__all__ = ["is_foreign"]

# https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header; "none" is the user's own doing.
_OWN_SITES = ("same-origin", "none")


def is_foreign(request: HttpRequest) -> bool:
    """Say whether a browser tells that another site sent this request."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None and site not in _OWN_SITES:
        return True
    origin = request.headers.get("Origin")
    if origin is None:
        return False
    if origin == "null":
        # A page that hides its address sends this too; then Sec-Fetch-Site alone vouches for it.
        return site is None
    try:
        host = urlsplit(origin).netloc
    except ValueError:
        return True
    return host.lower() != request.get_host().lower()
