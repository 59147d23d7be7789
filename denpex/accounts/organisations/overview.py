"""What an account's pages show of its organisations, its code and its evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allauth.account.models import EmailAddress
from django.utils import timezone

from denpex.accounts.models import Grant, User
from denpex.accounts.organisations import codes, memberships
from denpex.accounts.organisations.models import EvaluationCode, EvaluationRequest, Membership

__all__ = ["Overview", "Workplace", "of"]


@dataclass(frozen=True, slots=True)
class Workplace:
    """An organisation as one of its members sees it: its live code, or the evaluation it had."""

    membership: Membership
    live_code: EvaluationCode | None
    evaluation: EvaluationCode | None

    @property
    def has_own_code(self) -> bool:
        """Say whether the live code went to this member."""
        request = self.live_code.request if self.live_code else None
        return request is not None and request.address == self.membership.address


@dataclass(frozen=True, slots=True)
class Overview:
    """All of it."""

    workplaces: Sequence[Workplace]
    joinable: Sequence[EmailAddress]
    requests: Sequence[EvaluationRequest]
    running: Grant | None

    @property
    def may_redeem(self) -> bool:
        """Say whether one of the organisations has a code to redeem."""
        return any(workplace.live_code for workplace in self.workplaces)


def of(account: User) -> Overview:
    """Return what there is to show."""
    members = account.memberships.select_related("organisation")
    return Overview(
        workplaces=[_workplace(membership) for membership in members],
        joinable=memberships.joinable(account),
        requests=_open_requests(account),
        running=account.grants.current().filter(tier="evaluation").order_by("ends_at").last(),
    )


def _workplace(membership: Membership) -> Workplace:
    organisation = membership.organisation
    return Workplace(
        membership=membership,
        live_code=organisation.codes.live().select_related("request").first(),
        evaluation=codes.first_evaluation(organisation),
    )


def _open_requests(account: User) -> Sequence[EvaluationRequest]:
    asked = account.evaluation_requests
    links = asked.awaiting_proof().filter(link_expires_at__gt=timezone.now())
    return [*links, *asked.awaiting_review()]
