"""Captured values put into texts and commands. A log is hostile input: this is the one way in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from diagnosis.engine.verdict import FilledFix
from encyclopedia.catalogue import Fix

__all__ = ["fill", "fill_command", "fill_fix"]

_PLACEHOLDER = re.compile(r"<([a-z][a-z0-9_]*)>")
# What may stand in a command: no blank, no quote, nothing that a shell reads as its own.
_SAFE = re.compile(r"[\w./:@+-]+", re.ASCII)
_LONGEST_VALUE = 200


def fill(text: str, captures: Mapping[str, str]) -> str:
    """Put captured values where `<name>` stands in a text for people; unknown names stay."""
    return _PLACEHOLDER.sub(lambda found: _value(captures, found) or found[0], text)


def fill_command(text: str, captures: Mapping[str, str]) -> str:
    r"""Put captured values into a command, each only if it is wholly `[\w./:@+-]`.

    A value that begins with a hyphen would be read as an option and stays out as well.
    """
    return _PLACEHOLDER.sub(lambda found: _safe_value(captures, found) or found[0], text)


def fill_fix(fix: Fix, captures: Mapping[str, str]) -> FilledFix:
    """Return the fix of a failure in the log's own terms."""
    return FilledFix(
        summary=fill(fix.summary, captures),
        command=None if fix.command is None else fill_command(fix.command, captures),
        verify=None if fix.verify is None else fill_command(fix.verify, captures),
        infra=None if fix.infra is None else fill(fix.infra, captures),
    )


def _value(captures: Mapping[str, str], found: re.Match[str]) -> str | None:
    value = captures.get(found[1])
    return value[:_LONGEST_VALUE] if value else None


def _safe_value(captures: Mapping[str, str], found: re.Match[str]) -> str | None:
    value = captures.get(found[1])
    if value and len(value) <= _LONGEST_VALUE and _SAFE.fullmatch(value) and value[0] != "-":
        return value
    return None
