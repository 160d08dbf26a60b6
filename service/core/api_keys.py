"""API keys as text: `tt_<id>_<secret>`. Only the secret's SHA-256 is stored."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Literal, get_args

Scope = Literal["read", "write", "admin"]
DEFAULT_WORKSPACE = "default"
SCOPES: tuple[Scope, ...] = get_args(Scope)

# The secret is long and random, so a fast hash is enough: nobody can find the secret by trying.
_SECRET_BYTES = 32
_WRITTEN = re.compile(r"tt_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Key:
    """A key as its owner knows it."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"tt_{self.id}_{self.secret}"

    @property
    def sha256(self) -> bytes:
        """The hash of the secret that the database stores."""
        return hashlib.sha256(self.secret.encode()).digest()


INVALID_KEY = Key("", "")
"""Stands for text that is not a key: it is looked up and compared like a key, and never matches."""


def new() -> Key:
    """A new random key."""
    return Key(secrets.token_hex(8), secrets.token_urlsafe(_SECRET_BYTES))


def parse(text: str) -> Key:
    """The key that the text spells, or `INVALID_KEY`."""
    found = _WRITTEN.fullmatch(text)
    return Key(*found.groups()) if found else INVALID_KEY
