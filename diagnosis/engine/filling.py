"""Captured values put into texts and commands. A log is hostile input: this is the one way in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from diagnosis.engine.mask_files import KINDS
from diagnosis.engine.verdict import FilledFix
from encyclopedia.catalogue import PLACEHOLDER, Fix

__all__ = ["MASKED", "fill", "fill_command", "fill_fix"]

# What masking put in place of a value, which its owner can put back.
MASKED = re.compile(rf"<(?:{'|'.join(KINDS)})-\d+>", re.ASCII)

# What may stand in a command: no blank, no quote, nothing that a shell reads as its own.
_SAFE = re.compile(r"[\w./:@+-]+", re.ASCII)
_LONGEST_VALUE = 200


def fill(text: str, captures: Mapping[str, str]) -> str:
    """Put captured values where `<name>` stands in a text for people; unknown names stay."""
    return PLACEHOLDER.sub(lambda found: _value(captures, found) or found[0], text)


def fill_command(text: str, captures: Mapping[str, str]) -> str:
    r"""Put captured values into a command, each only if it is wholly `[\w./:@+-]`.

    A value that begins with a hyphen would be read as an option and stays out as well. One that was
    masked is put in: it is as much to be filled in as the name that stood there.
    """
    return PLACEHOLDER.sub(lambda found: _safe_value(captures, found) or found[0], text)


def fill_fix(fix: Fix, captures: Mapping[str, str]) -> FilledFix:
    """Return the fix of a failure in the log's own terms."""
    return FilledFix(
        summary=_summary(fix, captures),
        command=None if fix.command is None else fill_command(fix.command, captures),
        verify=None if fix.verify is None else fill_command(fix.verify, captures),
        infra=fix.infra,
        expect=fix.expect,
    )


def _summary(fix: Fix, captures: Mapping[str, str]) -> str:
    """Return the summary, and what the log's values add to it where it tells all of them."""
    summary, told = fill(fix.summary, captures), fill(fix.told or "", captures)
    return f"{summary} {told}" if told and not PLACEHOLDER.search(told) else summary


def _value(captures: Mapping[str, str], found: re.Match[str]) -> str | None:
    value = captures.get(found[1])
    return value[:_LONGEST_VALUE] if value else None


def _safe_value(captures: Mapping[str, str], found: re.Match[str]) -> str | None:
    value = captures.get(found[1])
    if not value or len(value) > _LONGEST_VALUE or value[0] == "-":
        return None
    return value if _SAFE.fullmatch(value) or MASKED.fullmatch(value) else None
