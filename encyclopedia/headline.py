"""The stable part of a failure's error message: what people type into a search engine."""

from __future__ import annotations

from collections.abc import Iterator

from encyclopedia.catalogue import Failure, Signature

__all__ = ["literal_runs", "message_of", "page_title"]

# Shorter runs ("Killed", "rank ") say too little to find a page by.
_SHORTEST_MESSAGE = 12
_QUANTIFIERS = "*?{"
_OTHER_OPERATORS = ".[](){}+|^$"


def page_title(failure: Failure) -> str:
    """Return the text of the page's title tag: technology, message, name of the failure."""
    message = message_of(failure)
    technology = failure.systems[0]
    if not message.lower().startswith(technology.lower().split()[0]):
        message = f"{technology}: {message}"
    return message if message.endswith(failure.title) else f"{message} · {failure.title}"


def message_of(failure: Failure) -> str:
    """Return the longest fixed text of the first signature with a telling one, else the title."""
    for signature in sorted(failure.signatures, key=lambda each: each.role != failure.role):
        message = _message(signature)
        if len(message) >= _SHORTEST_MESSAGE:
            return message
    return failure.title


def _message(signature: Signature) -> str:
    longest = max(literal_runs(signature.pattern), key=len, default="")
    return " ".join(longest.split()).strip(" :,;'\"=-")


def literal_runs(pattern: str) -> Iterator[str]:
    """Yield the stretches of plain text in a regular expression, in their order."""
    run = ""
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if not escaped.isalnum():
                run += escaped
                continue
        elif character not in _QUANTIFIERS + _OTHER_OPERATORS:
            run += character
            continue
        # A quantifier may drop the character before it, so that this one is not fixed.
        yield run[:-1] if character in _QUANTIFIERS else run
        run = ""
        if character == "[":
            _skip_to("]", characters)
        elif character == "{":
            _skip_to("}", characters)
    yield run


def _skip_to(end: str, characters: Iterator[str]) -> None:
    previous = ""
    for character in characters:
        if character == end and previous != "\\":
            return
        previous = character
