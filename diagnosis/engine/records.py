"""Lines that are one JSON object: which of its keys tell what."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Opened", "RecordKeys", "open_record", "read_record"]


_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class RecordKeys:
    """Where an object keeps its facts: pairs of a field and the keys to look under.

    The first key that holds a string or a number counts; a dot leads into a nested object. Fields
    are those of `sources.Source`, and message, time and severity. `details` are the keys of texts
    that a logger keeps beside its message, as the error or the traceback: all of them count.
    """

    keys: tuple[tuple[str, tuple[str, ...]], ...]
    details: tuple[str, ...] = ()

    @functools.cached_property
    def places(self) -> Mapping[str, Sequence[_Place]]:
        """The places of all fields by the key of the record that they begin with."""
        places: dict[str, list[_Place]] = {}
        for field, names in self.keys:
            for order, name in enumerate(names):
                for key in {name, name.partition(".")[0]}:
                    places.setdefault(key, []).append(_Place(field, order, name))
        return places


class _Place(NamedTuple):
    """Where a field may stand: the lowest order counts."""

    field: str
    order: int
    name: str


class Opened(NamedTuple):
    """What an object tells: fields as bytes, the message, and where that begins in the text."""

    fields: dict[str, bytes]
    message: bytes
    offset: int


def open_record(keys: RecordKeys, text: bytes, start: int) -> Opened | None:
    """Read the JSON object that begins at `start`; None where there is none with a message.

    An object that is cut short gives its message alone, as far as it goes.
    """
    try:
        return _opened(keys, json.loads(text[start:]), text, start)
    except (ValueError, RecursionError):
        return _open_torn(keys, text, start)


def read_record(keys: RecordKeys, text: bytes) -> Opened | None:
    """Read a whole JSON object; None where `text` is none, or has no message."""
    try:
        return _opened(keys, json.loads(text.decode()), text, 0)
    except (ValueError, RecursionError):
        return None


def _opened(keys: RecordKeys, record: object, text: bytes, start: int) -> Opened | None:
    if not isinstance(record, dict):
        return None
    found: dict[str, tuple[int, str, bytes]] = {}
    for key in record:
        for place in keys.places.get(key, ()):
            if place.field in found and found[place.field][0] <= place.order:
                continue
            value = _plain(_under(record, place.name))
            if value is not None:
                found[place.field] = (place.order, place.name, value)
    if "message" not in found:
        return None
    _, name, message = found.pop("message")
    fields = {field: value for field, (_, _, value) in found.items()}
    message = b"\n".join((message.rstrip(b"\r\n"), *_details(keys, record, name)))
    return Opened(fields, message, _value_start(text, name, start))


def _details(keys: RecordKeys, record: Mapping[str, Any], message: str) -> Iterator[bytes]:
    """Yield the texts that stand beside the message, which stands under the key `message`."""
    for name in keys.details:
        value = _under(record, name)
        if name != message and isinstance(value, str) and value.strip():
            yield _encoded(value.rstrip("\r\n"))


def _open_torn(keys: RecordKeys, text: bytes, start: int) -> Opened | None:
    names = dict(keys.keys).get("message", ())
    for name in names:
        at = _value_start(text, name, start)
        if at > start:
            return Opened({}, _unescaped(text[at:]), at)
    return None


def _unescaped(torn: bytes) -> bytes:
    """Return the text of a JSON string whose record, or itself, has no end.

    What cannot be read is kept as it is.
    """
    text = torn.decode("utf-8", "surrogateescape")
    # The last escape may be torn as well; the longest is six characters.
    escape = text.rfind("\\", max(0, len(text) - 6))
    for candidate in (text, text + '"', text[:escape] + '"' if escape >= 0 else text):
        try:
            value, _ = _DECODER.raw_decode('"' + candidate)
        except ValueError:
            continue
        return _encoded(value)
    return torn


def _under(record: Mapping[str, Any], name: str) -> object:
    """Return what stands under a key, or under a path of keys with dots between them."""
    if name in record:
        return record[name]
    value: object = record
    for step in name.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _plain(value: object) -> bytes | None:
    if isinstance(value, str):
        return _encoded(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value).encode()
    return None


def _encoded(text: str) -> bytes:
    """Return the bytes of a text, those again that were no UTF-8; lone surrogates as they are."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _value_start(text: bytes, name: str, start: int) -> int:
    """Return where the string under a key begins, inside its quotes; `start` where it has none."""
    key = b'"' + name.rpartition(".")[2].encode() + b'"'
    found = text.find(key, start)
    colon = text.find(b":", found + len(key)) if found >= 0 else -1
    quote = text.find(b'"', colon) if colon >= 0 else -1
    return quote + 1 if quote >= 0 and not text[colon + 1 : quote].strip() else start
