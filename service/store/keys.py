"""Workspaces and their keys, for the operator and for authentication; not limited to one workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, exists, func, or_, select, update
from sqlalchemy import insert as insert_into
from sqlalchemy.dialects.postgresql import insert

from service.core.errors import NotFound
from service.store.tables import api_keys, workspaces

# A write for every request would cost more than the request itself.
_USED_AGAIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key without its secret.

    Attributes
    ----------
    valid : bool
        Neither expired nor revoked, by the database's clock.
    """

    id: str
    workspace: str
    name: str
    secret_sha256: bytes
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    valid: bool


def any_key(conn: Connection) -> bool:
    """Whether a key was ever created; revoked keys count, so that revoking the last one does not open the
    service.
    """
    return bool(conn.scalar(select(exists(select(api_keys.c.id)))))


def add(
    conn: Connection,
    *,
    key_id: str,
    secret_sha256: bytes,
    workspace: str,
    name: str,
    scopes: Sequence[str],
    lasts: timedelta | None,
) -> KeyRecord:
    """Store a key, and create its workspace if it does not exist."""
    conn.execute(insert(workspaces).values(name=workspace, created_at=func.now()).on_conflict_do_nothing())
    row = {
        "id": key_id,
        "workspace": workspace,
        "name": name,
        "secret_sha256": secret_sha256,
        "scopes": list(scopes),
        "created_at": func.now(),
        "expires_at": None if lasts is None else func.now() + lasts,
    }
    conn.execute(insert_into(api_keys).values(row))
    return get(conn, key_id)


def get(conn: Connection, key_id: str) -> KeyRecord:
    """One key.

    Raises
    ------
    NotFound
        No such key.
    """
    found = find(conn, key_id)
    if found is None:
        raise NotFound(f"There is no key {key_id!r}; `tastetest keys list` lists all keys.")
    return found


def find(conn: Connection, key_id: str) -> KeyRecord | None:
    """The key with this id, if there is one."""
    found = _records(conn, key_id)
    return found[0] if found else None


def listed(conn: Connection, workspace: str | None) -> list[KeyRecord]:
    """All keys, or those of one workspace, oldest first."""
    return [key for key in _records(conn) if workspace in (None, key.workspace)]


def revoke(conn: Connection, key_id: str) -> KeyRecord:
    """Revoke a key for good; does nothing if it is already revoked."""
    ended = update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    conn.execute(ended.values(revoked_at=func.now()))
    return get(conn, key_id)


def mark_used(conn: Connection, key_id: str) -> None:
    """Record that a key was used, at most once a minute."""
    k = api_keys.c
    stale = or_(k.last_used_at.is_(None), k.last_used_at < func.now() - _USED_AGAIN)
    conn.execute(update(api_keys).where(k.id == key_id, stale).values(last_used_at=func.now()))


def _records(conn: Connection, key_id: str | None = None) -> list[KeyRecord]:
    k = api_keys.c
    alive = k.revoked_at.is_(None) & func.coalesce(k.expires_at > func.now(), True)
    query = select(api_keys, alive.label("valid")).order_by(k.created_at, k.id)
    if key_id is not None:
        query = query.where(k.id == key_id)
    return [
        KeyRecord(**{**row._mapping, "scopes": tuple(row.scopes), "secret_sha256": bytes(row.secret_sha256)})
        for row in conn.execute(query)
    ]
