"""What a failure's page is called: technology and message, as people type them into a search."""

from __future__ import annotations

from encyclopedia.catalogue import Failure

__all__ = ["page_title"]


def page_title(failure: Failure) -> str:
    """Return the text of the page's title tag: technology, message, name of the failure.

    Search engines cut a title after about 60 characters, so that the name comes last.
    """
    message = failure.message or failure.title
    technology = failure.systems[0]
    if not message.lower().startswith(technology.lower().split()[0]):
        message = f"{technology}: {message}"
    return message if message.endswith(failure.title) else f"{message} · {failure.title}"
