"""Why a paste was not taken, in words: one table from what went wrong to what the visitor reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from denpex.accounts.tiers import TIERS
from diagnosis.discretion import EngineError
from diagnosis.paste import EmptyPasteError, PasteError, PasteTooLargeError, UnreadablePasteError
from diagnosis.quota import AllowanceSpentError
from diagnosis.store import StoreUnavailableError
from diagnosis.submission import BusyError, QuarantinedError

__all__ = ["REFUSED", "Refusal", "refusal_of"]

_RETRY_SECONDS = 30
# What anybody can reach.
_ADVERTISED = {
    "verified": "A verified account",
    "organisation": "An account of a verified workplace",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is wrong, and what to do. `retry_after` is in seconds."""

    status: HTTPStatus
    message: str
    advice: str
    retry_after: int | None = None


def refusal_of(error: Exception) -> Refusal:
    """Put an exception of `REFUSED` into words."""
    return next(words(error) for kind, words in _WORDS.items() if isinstance(error, kind))


def _paste(status: HTTPStatus) -> Callable[[Any], Refusal]:
    def words(error: PasteError) -> Refusal:
        return Refusal(status, error.message, error.advice)

    return words


def _allowance_spent(error: AllowanceSpentError) -> Refusal:
    allowance = error.allowance
    if allowance.limit == 0:
        return Refusal(
            HTTPStatus.FORBIDDEN,
            "No diagnoses are open to you here.",
            "Write to who runs this site if that is a mistake. The samples and all pages stay"
            " open, and denpex diagnose runs on your own machine.",
        )
    who = "Your network has" if allowance.shared else "You have"
    seconds = (allowance.returns_at - dt.datetime.now(tz=dt.UTC)).total_seconds()
    return Refusal(
        HTTPStatus.TOO_MANY_REQUESTS,
        f"{who} used the {allowance.limit} diagnoses of today.",
        f"The allowance returns at 00:00 UTC, {_in_words(seconds)} from now."
        f"{_who_has_more(allowance.limit)} The samples and all pages stay open.",
        retry_after=max(int(seconds), 1),
    )


def _who_has_more(limit: int) -> str:
    has = {key: TIERS[key].diagnoses_a_day for key in _ADVERTISED}
    return "".join(
        f" {who} has {has[key]} a day." for key, who in _ADVERTISED.items() if has[key] > limit
    )


def _in_words(seconds: float) -> str:
    hours, minutes = divmod(max(round(seconds / 60), 1), 60)
    parts = ((hours, "hour"), (minutes, "minute"))
    return " ".join(f"{n} {unit}{'' if n == 1 else 's'}" for n, unit in parts if n)


def _unavailable(_error: StoreUnavailableError) -> Refusal:
    return Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Diagnoses cannot be taken at the moment: our queue does not answer.",
        "Nothing was taken from your allowance. Send the form again in half a minute.",
        retry_after=_RETRY_SECONDS,
    )


def _busy(_error: BusyError) -> Refusal:
    return Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Diagnoses cannot be taken at the moment: other logs keep us busy.",
        "Your log was not kept, and your allowance is untouched. Send it again in half a minute.",
        retry_after=_RETRY_SECONDS,
    )


def _engine_error(_error: EngineError) -> Refusal:
    return Refusal(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "Masking this log failed: a fault of ours, which we can see.",
        "The log was not kept, and nothing was taken from your allowance.",
    )


def _quarantined(_error: QuarantinedError) -> Refusal:
    return Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "This very log made our engine fail three times today: a fault of ours, which we can see.",
        "It is set aside and not tried again for 24 hours. Nothing was taken from your allowance. A"
        " shorter part of it, around the first error, may go through.",
    )


_WORDS: Mapping[type[Exception], Callable[[Any], Refusal]] = {
    EmptyPasteError: _paste(HTTPStatus.BAD_REQUEST),
    PasteTooLargeError: _paste(HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    UnreadablePasteError: _paste(HTTPStatus.UNPROCESSABLE_ENTITY),
    PasteError: _paste(HTTPStatus.BAD_REQUEST),
    AllowanceSpentError: _allowance_spent,
    StoreUnavailableError: _unavailable,
    BusyError: _busy,
    EngineError: _engine_error,
    QuarantinedError: _quarantined,
}
REFUSED = tuple(_WORDS)
