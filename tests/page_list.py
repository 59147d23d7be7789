"""One address of each kind of page, on a site with the whole catalogue."""

from __future__ import annotations

__all__ = ["FAILURE_PAGE", "PAGES"]

FAILURE_PAGE = "/failures/ephemeral-storage-exhaustion-by-model-weights/"

PAGES = (
    "/",
    "/failures/",
    "/failures/?category=storage&system=pytorch&sort=title",
    "/failures/?category=serving&severity=low",
    "/failures/?q=checkpoint",
    "/failures/?q=zzzz",
    "/failures/?q=xid+999",
    "/failures/?category=weather",
    "/failures/?category=data&severity=critical",
    "/f/xid-999",
    FAILURE_PAGE,
    f"{FAILURE_PAGE}was-it/yes/",
    f"{FAILURE_PAGE}was-it/no/",
    "/failures/process-sigbus/",
    "/errors/",
    "/accuracy/",
    "/privacy/",
    "/diagnose/",
    "/style/",
    "/no-such-page",
)
