"""Users, known by their e-mail address."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate
from django.db import IntegrityError

from denpex.accounts.models import User

pytestmark = pytest.mark.django_db


def test_it_works() -> None:
    user = User.objects.create_user(" Alice@Example.ORG ", "a long pass phrase")
    assert user.email == "alice@example.org"
    assert str(user) == "alice@example.org"
    assert not user.is_staff
    assert not user.is_superuser


def test_a_password_is_hashed_with_argon2() -> None:
    user = User.objects.create_user("alice@example.org", "a long pass phrase")
    assert user.password.startswith("argon2$argon2id$")


def test_an_address_logs_in_whatever_its_case() -> None:
    user = User.objects.create_user("alice@example.org", "a long pass phrase")
    assert authenticate(username="ALICE@example.org", password="a long pass phrase") == user
    assert authenticate(username="alice@example.org", password="another one") is None


def test_an_address_is_stored_in_lower_case_alone() -> None:
    with pytest.raises(IntegrityError):
        User(email="ALICE@example.org").save()


def test_a_user_without_a_password_cannot_log_in() -> None:
    assert not User.objects.create_user("alice@example.org").has_usable_password()


def test_a_user_needs_an_address() -> None:
    with pytest.raises(ValueError, match="needs an e-mail address"):
        User.objects.create_user("")


def test_a_superuser_may_do_everything() -> None:
    user = User.objects.create_superuser("root@example.org", "a long pass phrase")
    assert user.is_staff
    assert user.has_perm("accounts.delete_user")
