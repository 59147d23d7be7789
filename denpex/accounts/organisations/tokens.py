"""Codes and links that nobody can guess: 128 random bits or more; only the digest is kept.

The digest needs no key and no salt: what it hides has more values than anyone can try.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets

__all__ = ["digest_of_code", "digest_of_link", "new_code", "new_link"]

_LINK_BYTES = 16
# 28 letters and digits: seven groups of four.
_CODE_BYTES = 17
_GROUP = 4
_SEPARATORS = re.compile(r"[\s\-]+")


def new_code() -> str:
    """Return a code, in groups that the eye can follow: `K7Q2M-…`."""
    text = base64.b32encode(secrets.token_bytes(_CODE_BYTES)).decode().rstrip("=")
    return "-".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))


def digest_of_code(typed: str) -> str:
    """Return the digest of a code as a person types it: groups and case do not matter."""
    return _digest("code", _SEPARATORS.sub("", typed).upper())


def new_link() -> str:
    """Return the secret part of a link."""
    return secrets.token_urlsafe(_LINK_BYTES)


def digest_of_link(secret: str) -> str:
    """Return the digest of the secret part of a link."""
    return _digest("link", secret)


def _digest(kind: str, text: str) -> str:
    return hashlib.sha256(f"denpex.{kind}\0{text}".encode()).hexdigest()
