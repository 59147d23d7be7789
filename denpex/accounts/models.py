"""Users, known by their e-mail address, and the tiers that were granted to them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Lower, Now
from django.utils import timezone

from denpex.accounts.tiers import ANONYMOUS, TIERS

__all__ = ["Grant", "User", "UserManager"]


class UserManager(BaseUserManager["User"]):
    """Makes users, and finds them by address in any case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Save a user with a hashed password, or one that cannot log in where it is None.

        Raises ValueError for an empty address.
        """
        if not email:
            raise ValueError("a user needs an e-mail address")
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Save a user with every permission."""
        return self.create_user(
            email, password, **{**fields, "is_staff": True, "is_superuser": True}
        )

    def with_address(self, email: str) -> models.QuerySet[User]:
        """Select the users that gave this address: who verified it, then from the oldest on."""
        from allauth.account.models import EmailAddress

        address = self.normalize_email(email)
        proof = EmailAddress.objects.filter(user=OuterRef("pk"), email=address, verified=True)
        given = EmailAddress.objects.filter(user=OuterRef("pk"), email=address)
        return self.filter(Q(Exists(given)) | Q(email=address)).order_by(Exists(proof).desc(), "pk")

    def get_by_natural_key(self, username: str | None) -> User:
        """Return the user with this address, whatever its case."""
        found = self.with_address(username or "").first()
        if found is None:
            raise self.model.DoesNotExist
        return found

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        """Return the address in lower case, as it is stored."""
        return (email or "").strip().lower()


class User(AbstractBaseUser, PermissionsMixin):
    """A person with an account.

    Several may give one address; only one of them can have verified it (see settings,
    ACCOUNT_PREVENT_ENUMERATION).
    """

    email = models.EmailField("e-mail address", max_length=254, db_index=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)

    objects = UserManager()

    EMAIL_FIELD = "email"
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(email=Lower("email")), name="user_email_in_lower_case"
            )
        ]

    def __str__(self) -> str:
        return self.email


class GrantQuerySet(models.QuerySet["Grant"]):
    """The questions that are asked of grants; times are the database's."""

    def current(self) -> GrantQuerySet:
        """Select grants that have begun and not ended."""
        return self.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=Now()), begins_at__lte=Now())


class Grant(models.Model):
    """A tier given to an account for a while: by staff, a redeemed code, or a membership.

    Who gives one writes a row and says why; who takes it back sets `ends_at`, so that the row stays
    as a record. `denpex.accounts.standing` says which one counts.
    """

    account = models.ForeignKey(User, on_delete=models.CASCADE, related_name="grants")
    tier = models.CharField(
        max_length=20,
        choices=[(key, tier.name) for key, tier in TIERS.items() if key != ANONYMOUS.key],
    )
    diagnoses_a_day = models.PositiveIntegerField(
        null=True, blank=True, help_text="Instead of the tier's own limit; 0 means none at all."
    )
    begins_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField(
        null=True, blank=True, help_text="Empty where it holds until it is taken back."
    )
    why = models.CharField(max_length=200)
    given_by = models.ForeignKey(
        User,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The member of staff; nobody where a code or a membership gave it.",
    )
    created_at = models.DateTimeField(db_default=Now())

    objects = GrantQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = [F("begins_at").desc(), "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gte=F("begins_at")),
                name="grant_ends_after_it_begins",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tier} for account {self.account_id}"
