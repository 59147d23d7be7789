"""Users, known by their e-mail address."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

__all__ = ["User", "UserManager"]


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

    def get_by_natural_key(self, username: str | None) -> User:
        """Return the user with this address, whatever its case."""
        return self.get(email__iexact=username)

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        """Return the address in lower case, as it is stored."""
        return (email or "").strip().lower()


class User(AbstractBaseUser, PermissionsMixin):
    """A person with an account."""

    email = models.EmailField("e-mail address", max_length=254, unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)

    objects = UserManager()

    EMAIL_FIELD = "email"
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("email"), name="user_email_unique_in_any_case")
        ]

    def __str__(self) -> str:
        return self.email
