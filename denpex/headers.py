"""Response headers that tell the browser what a page may do.

The policy is a table in the shape of Django 6's `SECURE_CSP`, so that the middleware can make way
for Django's own one day. Scripts and styles are files of ours: nothing inline, nothing foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

__all__ = ["CONTENT_SECURITY_POLICY", "PERMISSIONS_POLICY", "SecurityHeadersMiddleware", "policy"]

SELF = "'self'"
NONE = "'none'"

CONTENT_SECURITY_POLICY: Mapping[str, Sequence[str]] = {
    "default-src": [NONE],
    "script-src": [SELF],
    "style-src": [SELF],
    "img-src": [SELF],
    "connect-src": [SELF],
    "manifest-src": [SELF],
    "form-action": [SELF],
    "base-uri": [NONE],
    "frame-ancestors": [NONE],
}
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def policy(directives: Mapping[str, Sequence[str]]) -> str:
    """Write `directives` as the value of a Content-Security-Policy header."""
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


class SecurityHeadersMiddleware:
    """Adds the content security policy and the permissions policy to every response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.content_security_policy = policy(settings.SECURE_CSP)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer `request`; a view's own header stands."""
        response = self.get_response(request)
        if hasattr(request, "session") and request.session.accessed:
            # Who asked may have decided what it says: no cache may give it to another.
            response.headers["Cache-Control"] = "private, no-store"
        response.headers.setdefault("Content-Security-Policy", self.content_security_policy)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response
