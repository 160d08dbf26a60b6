"""API keys as text: `tt_<id>_<secret>`. Only the secret's SHA-256 is kept."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Literal, get_args

Scope = Literal["read", "write", "admin"]
DEFAULT_WORKSPACE = "default"
SCOPES: tuple[Scope, ...] = get_args(Scope)

# Random and long: a plain hash of it cannot be guessed back, and needs no slow one.
_SECRET_BYTES = 32
_WRITTEN = re.compile(r"tt_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Key:
    """A key as its holder has it."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"tt_{self.id}_{self.secret}"

    @property
    def sha256(self) -> bytes:
        """What is kept of the secret."""
        return hashlib.sha256(self.secret.encode()).digest()


NONE = Key("", "")
"""What is no key, in the place of one: it is looked up and compared like any, and never fits."""


def new() -> Key:
    """A key nobody has yet."""
    return Key(secrets.token_hex(8), secrets.token_urlsafe(_SECRET_BYTES))


def parse(text: str) -> Key:
    """The key that is written so, or `NONE`."""
    found = _WRITTEN.fullmatch(text)
    return Key(*found.groups()) if found else NONE
