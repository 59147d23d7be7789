"""Organisations and their members, evaluation requests and codes, and the record of every step."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now

from denpex.accounts.models import Grant, User

__all__ = [
    "AuditEntry",
    "EvaluationCode",
    "EvaluationRequest",
    "Membership",
    "Organisation",
]

_DIGEST_LENGTH = 64


class OrganisationQuerySet(models.QuerySet["Organisation"]):
    """The questions that are asked of organisations."""

    def open(self) -> OrganisationQuerySet:
        """Select organisations that staff have not closed."""
        return self.filter(closed_at__isnull=True)


class Organisation(models.Model):
    """A workplace: whoever proves an address below its domain is one of its people.

    The row is made when the first of them does. Its lock is taken before any of its codes or
    memberships changes, so that two requests never decide from the same state.
    """

    domain = models.CharField(
        max_length=253, unique=True, help_text="The registrable domain, in lower case, as ASCII."
    )
    name = models.CharField(max_length=100, help_text="As its first member wrote it.", blank=True)
    verified_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since when it takes no members and gets no codes: its domain gives addresses to"
        " everybody, say.",
    )

    objects = OrganisationQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["domain"]

    def __str__(self) -> str:
        return self.domain


class Membership(models.Model):
    """An account that proved an address of the organisation. Who leaves takes the row along."""

    account = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="memberships"
    )
    address = models.EmailField(max_length=254, unique=True, help_text="What proved it.")
    grant = models.OneToOneField(Grant, on_delete=models.CASCADE, related_name="+")
    joined_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["joined_at", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "organisation"], name="membership_unique"),
            models.CheckConstraint(
                condition=Q(address=Lower("address")), name="membership_address_in_lower_case"
            ),
        ]

    def __str__(self) -> str:
        return f"membership {self.pk}"


class EvaluationRequestQuerySet(models.QuerySet["EvaluationRequest"]):
    """The questions that are asked of requests; times are the database's."""

    def awaiting_proof(self) -> EvaluationRequestQuerySet:
        """Select requests whose link has been sent and not been used yet."""
        return self.filter(state=EvaluationRequest.State.LINK_SENT)

    def awaiting_review(self) -> EvaluationRequestQuerySet:
        """Select requests that wait for staff."""
        return self.filter(state=EvaluationRequest.State.IN_REVIEW)


class EvaluationRequest(models.Model):
    """An account that asked for an evaluation, and the link that proves its address at work."""

    class State(models.TextChoices):
        """Where a request stands."""

        LINK_SENT = "link_sent", "link sent"
        IN_REVIEW = "in_review", "waiting for review"
        ANSWERED = "answered"
        DECLINED = "declined"

    account = models.ForeignKey(User, on_delete=models.CASCADE, related_name="evaluation_requests")
    address = models.EmailField("work e-mail", max_length=254)
    organisation_name = models.CharField("organisation", max_length=100)
    purpose = models.TextField("what for", max_length=500)
    is_suspected = models.BooleanField(
        "on a list of throw-away mail",
        default=False,
        help_text="Such lists are often wrong: staff decide once the address is proved.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.LINK_SENT)
    link_digest = models.CharField(max_length=_DIGEST_LENGTH, unique=True, editable=False)
    link_expires_at = models.DateTimeField()
    made_at = models.DateTimeField(db_default=Now())
    proved_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")

    objects = EvaluationRequestQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-made_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(address=Lower("address")), name="request_address_in_lower_case"
            ),
            models.CheckConstraint(
                condition=Q(state="link_sent", proved_at__isnull=True)
                | ~Q(state="link_sent") & Q(proved_at__isnull=False),
                name="request_goes_on_once_proved",
            ),
        ]

    def __str__(self) -> str:
        return f"request {self.pk}"


class EvaluationCodeQuerySet(models.QuerySet["EvaluationCode"]):
    """The questions that are asked of codes; times are the database's."""

    def live(self) -> EvaluationCodeQuerySet:
        """Select codes that can be redeemed now."""
        return self.filter(state=EvaluationCode.State.LIVE, expires_at__gt=Now())

    def overdue(self) -> EvaluationCodeQuerySet:
        """Select codes whose time has passed and that do not say so yet."""
        return self.filter(state=EvaluationCode.State.LIVE, expires_at__lte=Now())

    def redeemed(self) -> EvaluationCodeQuerySet:
        """Select codes that started an evaluation."""
        return self.filter(state=EvaluationCode.State.REDEEMED)


class EvaluationCode(models.Model):
    """A code that starts an evaluation once. Only its digest is kept."""

    class State(models.TextChoices):
        """Where a code stands."""

        LIVE = "live"
        REDEEMED = "redeemed"
        REVOKED = "revoked"
        EXPIRED = "expired"

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="codes")
    request = models.ForeignKey(
        EvaluationRequest,
        null=True,
        on_delete=models.SET_NULL,
        related_name="codes",
        help_text="Who asked for it; nobody where staff minted it.",
    )
    digest = models.CharField(max_length=_DIGEST_LENGTH, unique=True, editable=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.LIVE)
    is_further = models.BooleanField(
        "further evaluation",
        default=False,
        help_text="Given by staff to an organisation that had its evaluation.",
    )
    minted_at = models.DateTimeField(db_default=Now())
    minted_by = models.ForeignKey(
        User,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The member of staff; nobody where a proved request did it.",
    )
    expires_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, help_text="When it was redeemed, revoked, expired.")
    redeemed_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    grant = models.OneToOneField(
        Grant, null=True, on_delete=models.SET_NULL, related_name="evaluation_code"
    )
    reminded_at = models.DateTimeField(null=True)

    objects = EvaluationCodeQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-minted_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["organisation"],
                condition=Q(state="live"),
                name="one_live_code_of_an_organisation",
            ),
            models.UniqueConstraint(
                fields=["organisation"],
                condition=Q(state="redeemed", is_further=False),
                name="one_evaluation_of_an_organisation",
            ),
            models.CheckConstraint(
                condition=Q(state="live", closed_at__isnull=True)
                | ~Q(state="live") & Q(closed_at__isnull=False),
                name="code_says_when_it_was_closed",
            ),
        ]

    def __str__(self) -> str:
        return f"code {self.pk} of {self.organisation}"


class AuditEntry(models.Model):
    """One step in the life of an organisation, its members or its codes.

    Rows are only ever added: a trigger of the database refuses to change or remove one. So they
    hold numbers of accounts, never addresses, and outlive the account.
    """

    class Event(models.TextChoices):
        """What happened."""

        REQUESTED = "requested", "evaluation requested"
        PROVED = "proved", "address at work proved"
        ORGANISATION_VERIFIED = "organisation_verified", "organisation verified"
        ORGANISATION_CLOSED = "organisation_closed", "organisation closed"
        ORGANISATION_REOPENED = "organisation_reopened", "organisation opened again"
        PUT_TO_REVIEW = "put_to_review", "request put to review"
        APPROVED = "approved", "request approved"
        DECLINED = "declined", "request declined"
        JOINED = "joined", "member joined"
        LEFT = "left", "member left"
        MINTED = "minted", "code minted and sent"
        REVOKED = "revoked", "code revoked"
        REPLACED = "replaced", "code replaced by a newer one"
        EXPIRED = "expired", "code expired"
        REDEEMED = "redeemed", "code redeemed"
        REFUSED = "refused", "code refused"
        REMINDED = "reminded", "reminded of the end"
        GRANT_GIVEN = "grant_given", "grant given"
        GRANT_CHANGED = "grant_changed", "grant changed"
        ACCOUNT_CHANGED = "account_changed", "account changed"

    at = models.DateTimeField(db_default=Now(), db_index=True)
    event = models.CharField(max_length=30, choices=Event.choices)
    organisation = models.ForeignKey(
        Organisation, null=True, on_delete=models.PROTECT, related_name="audit_entries"
    )
    code = models.ForeignKey(
        EvaluationCode, null=True, on_delete=models.PROTECT, related_name="audit_entries"
    )
    account = models.ForeignKey(
        User,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        help_text="Whom it is about; the number stays when the account goes.",
    )
    staff = models.ForeignKey(
        User,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
        help_text="Who of the staff did it; nobody where an account did.",
    )
    detail = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        ordering: ClassVar = [F("at").desc(), "-pk"]
        verbose_name_plural = "audit trail"

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"
