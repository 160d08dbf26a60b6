"""Opaque cursors for keyset pagination, and checks of ids."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import NoReturn, TypeVar
from uuid import UUID

from service.core.errors import FieldError, InvalidRequest, NotFound
from service.store.records import Page

T = TypeVar("T")


def encode(key: str) -> str:
    """The cursor that continues after this key."""
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode(cursor: str) -> str:
    """The key that a cursor encodes.

    Raises
    ------
    InvalidRequest
        The cursor was not created by this service.
    """
    try:
        key = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        _refuse(cursor)
    if "\0" in key:
        _refuse(cursor)
    return key


def decode_id(cursor: str) -> str:
    """Like `decode`, for lists ordered by id."""
    key = decode(cursor)
    try:
        return str(UUID(key))
    except ValueError:
        _refuse(cursor)


def page(items: Sequence[T], keys: Sequence[str], limit: int) -> Page[T]:
    """A page of at most `limit` items, from the up to `limit + 1` items that were read."""
    more = len(items) > limit
    return Page(tuple(items[:limit]), encode(keys[limit - 1]) if more else None)


def known_id(value: str, what: str) -> str:
    """The id in canonical form.

    Raises
    ------
    NotFound
        It cannot be an id.
    """
    try:
        return str(UUID(value))
    except (ValueError, AttributeError, TypeError):
        raise NotFound(f"There is no {what} {value!r}.") from None


def _refuse(cursor: str) -> NoReturn:
    detail = "The cursor is not valid; send the next_cursor of the previous page, unchanged."
    raise InvalidRequest(detail, [FieldError("/cursor", "bad-cursor", f"{cursor[:40]!r} is not a cursor")])
