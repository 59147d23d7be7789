"""A page taken apart: what a test asks of its elements."""

from __future__ import annotations

from html.parser import HTMLParser

__all__ = ["Parsed"]


class Parsed(HTMLParser):
    """The elements of a page as names and attributes, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        """Return the attributes of all elements of this name and with these attributes."""
        return [
            found
            for name, found in self.elements
            if name == tag and attributes.items() <= found.items()
        ]

    def values(self, attribute: str) -> list[str]:
        """Return every value of an attribute."""
        return [found[attribute] for _name, found in self.elements if attribute in found]
