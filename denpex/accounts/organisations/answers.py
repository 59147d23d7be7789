"""What a person reads when a code is refused or an address is proved: one table for each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from denpex.accounts.organisations import domains
from denpex.accounts.organisations.codes import CodeRefusedError, Refusal, first_evaluation
from denpex.accounts.organisations.models import EvaluationCode, EvaluationRequest, Organisation
from denpex.accounts.organisations.requests import Outcome
from denpex.accounts.tiers import EVALUATION_PERIOD, TIERS

__all__ = ["Answer", "answer_to_code", "answer_to_proof", "day"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is so, and what to do. `is_good` says that it is what the person wanted."""

    message: str
    advice: str
    is_good: bool = False

    def __str__(self) -> str:
        return f"{self.message} {self.advice}"


def day(time: dt.datetime) -> str:
    """Return a date as pages and mails say it."""
    return f"{time.day} {time:%B %Y}"


def answer_to_code(error: CodeRefusedError) -> Answer:
    """Put a refused code into words."""
    if error.code is None:
        return Answer(
            "We know no such code.",
            "Compare it with the mail. Copying is safer than typing.",
        )
    return _CODE[error.refusal](error.code)


def answer_to_proof(outcome: Outcome, request: EvaluationRequest) -> Answer:
    """Put what came of a proved address into words."""
    domain = domains.registrable_domain(request.address)
    return _PROOF[outcome](request, Organisation.objects.filter(domain=domain).first())


def _foreign(code: EvaluationCode) -> Answer:
    return Answer(
        f"This code belongs to {code.organisation.domain}, and your account does not.",
        f"Join {code.organisation.domain} first: add your address there to your account, verify it,"
        " and join from the account's page. The code stays as it is.",
    )


def _replayed(code: EvaluationCode) -> Answer:
    return Answer(
        f"You have redeemed this code already{_on(code)}.",
        f"{_runs(code)} A code works once.",
    )


def _used(code: EvaluationCode) -> Answer:
    return Answer(
        f"This code was redeemed{_on(code)}, by another account of {code.organisation.domain}.",
        "A code works once.",
    )


def _revoked(code: EvaluationCode) -> Answer:
    return Answer(
        f"This code was withdrawn{_on(code)}.",
        "If a newer mail holds another one, use that; else request a new code.",
    )


def _expired(code: EvaluationCode) -> Answer:
    return Answer(
        f"This code could be redeemed until {day(code.expires_at)}.",
        f"Request a new one: it goes to an address at {code.organisation.domain} again.",
    )


def _had_evaluation(code: EvaluationCode) -> Answer:
    return Answer(_evaluation_of(code.organisation), _ONE_EVALUATION)


def _code_sent(request: EvaluationRequest, _organisation: Organisation | None) -> Answer:
    return Answer(
        f"{request.address} is yours, and the code is on its way there.",
        "Type it below. Nothing there after a few minutes? Look among the spam.",
        is_good=True,
    )


def _in_review(request: EvaluationRequest, _organisation: Organisation | None) -> Answer:
    return Answer(
        f"{request.address} is yours. Its domain is on a list of throw-away mail.",
        "Such lists are often wrong, so that a person looks at your request. The answer goes to"
        " that address; there is nothing else to do.",
    )


def _code_with_colleague(_request: EvaluationRequest, organisation: Organisation | None) -> Answer:
    live = organisation.codes.live().first() if organisation else None
    until = f", on {day(live.minted_at)}; it works until {day(live.expires_at)}" if live else ""
    domain = organisation.domain if organisation else ""
    return Answer(
        f"You are a member of {domain} now. Its code went to a colleague{until}.",
        "An organisation has one code at a time: ask around, or request again after that day.",
    )


def _proved_after_evaluation(
    request: EvaluationRequest, organisation: Organisation | None
) -> Answer:
    had = _evaluation_of(organisation) if organisation else ""
    return Answer(f"{request.address} is yours. {had}", _ONE_EVALUATION)


def _address_taken(request: EvaluationRequest, _organisation: Organisation | None) -> Answer:
    return Answer(
        f"{request.address} has made another account a member already.",
        "Log in to that one, or leave the organisation there, and then request again here.",
    )


def _organisation_closed(request: EvaluationRequest, organisation: Organisation | None) -> Answer:
    domain = organisation.domain if organisation else request.address
    return Answer(
        f"{domain} does not count as a workplace here.",
        "It gives addresses to everybody, as far as we know. Use another address at work, or ask"
        " whoever runs this site if that is a mistake.",
    )


def _on(code: EvaluationCode) -> str:
    return f" on {day(code.closed_at)}" if code.closed_at else ""


def _runs(code: EvaluationCode) -> str:
    end = code.grant.ends_at if code.grant else None
    return f"Your evaluation runs until {end:%H:%M} UTC on {day(end)}." if end else ""


def _evaluation_of(organisation: Organisation) -> str:
    code = first_evaluation(organisation)
    if code is None or code.closed_at is None:
        return f"{organisation.domain} had its evaluation."
    end = code.grant.ends_at if code.grant and code.grant.ends_at else None
    until = end or code.closed_at + EVALUATION_PERIOD
    return f"{organisation.domain} had its evaluation, from {day(code.closed_at)} to {day(until)}."


_ONE_EVALUATION = (
    "An organisation gets one. Its members have"
    f" {TIERS['organisation'].diagnoses_a_day} diagnoses a day; ask whoever runs this site if you"
    " need more."
)
_CODE: Mapping[Refusal, Callable[[EvaluationCode], Answer]] = {
    Refusal.FOREIGN: _foreign,
    Refusal.REPLAYED: _replayed,
    Refusal.USED: _used,
    Refusal.REVOKED: _revoked,
    Refusal.EXPIRED: _expired,
    Refusal.HAD_EVALUATION: _had_evaluation,
}
_PROOF: Mapping[Outcome, Callable[[EvaluationRequest, Organisation | None], Answer]] = {
    Outcome.CODE_SENT: _code_sent,
    Outcome.IN_REVIEW: _in_review,
    Outcome.CODE_WITH_COLLEAGUE: _code_with_colleague,
    Outcome.HAD_EVALUATION: _proved_after_evaluation,
    Outcome.ADDRESS_TAKEN: _address_taken,
    Outcome.ORGANISATION_CLOSED: _organisation_closed,
}
