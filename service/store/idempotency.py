"""Answers stored under a caller's key for a day, in the transaction that did the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from service.core.errors import Conflict, FieldError, InvalidRequest
from service.store.database import try_lock
from service.store.tables import idempotency_keys as keys
from service.store.workspace_scope import mine, owner

KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer as it was sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def find(conn: Connection, key: str, fingerprint: bytes) -> StoredAnswer | None:
    """The answer under this key; None if the request is new and must be processed in this transaction.

    Parameters
    ----------
    fingerprint : bytes
        Equal for equal requests only.

    Raises
    ------
    Conflict
        Another request with this key is being processed.
    InvalidRequest
        The key was used for another request.
    """
    if not try_lock(conn, f"{owner(conn)} {key}"):
        message = "A request with this key is being processed; send it again a little later."
        raise Conflict(message, [FieldError("header/idempotency-key", "in_progress", message)])
    conn.execute(delete(keys).where(keys.c.created_at < func.now() - KEPT, mine(conn, keys)))
    ours = keys.c.workspace == owner(conn)
    found = conn.execute(select(keys).where(keys.c.key == key, ours)).one_or_none()
    if found is None:
        return None
    if found.fingerprint != fingerprint:
        message = "This key was used for another request; use a new key for each new request."
        raise InvalidRequest(message, [FieldError("header/idempotency-key", "key_reused", message)])
    return StoredAnswer(found.status, found.headers, found.body)


def keep(conn: Connection, key: str, fingerprint: bytes, answer: StoredAnswer) -> None:
    """Store the answer to the request that was just processed."""
    row = {
        "workspace": owner(conn),
        "key": key,
        "fingerprint": fingerprint,
        "status": answer.status,
        "headers": dict(answer.headers),
        "body": answer.body,
        "created_at": func.now(),
    }
    conn.execute(insert(keys).values(row))
