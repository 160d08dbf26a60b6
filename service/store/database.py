"""Connections to Postgres."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, create_engine, func, select

Transaction = Connection
"""What a caller opens and hands to the store's functions; it needs no other of SQLAlchemy."""

_SESSION = {
    "timezone": "UTC",
    "lock_timeout": "10s",
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "60s",
}
# Notice a vanished peer within half a minute; with the system's defaults it would take hours.
_NETWORK = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def make_engine(
    url: str, *, pool_size: int = 10, application: str = "tastetest", pre_ping: bool = True
) -> Engine:
    """An engine whose sessions use UTC and time out instead of waiting forever.

    With `pre_ping`, a pooled connection is tested before use. Without it, the first statement on a
    connection that was cut fails, and the caller must retry.
    """
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=pre_ping,
        connect_args={"application_name": application, "options": _options(_SESSION), **_NETWORK},
    )


def make_quick_engine(url: str, *, pool_size: int, application: str) -> Engine:
    """An engine for single statements that may be lost in a crash of the database: it does not wait for the
    disk.
    """
    options = _options(_SESSION | {"synchronous_commit": "off"})
    return create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        pool_size=pool_size,
        connect_args={"application_name": application, "options": options, **_NETWORK},
    )


def _options(session: dict[str, str]) -> str:
    return " ".join(f"-c {name}={value}" for name, value in session.items())


def try_lock(conn: Connection, name: str) -> bool:
    """Take an advisory lock until the transaction ends; False if another session holds it."""
    return bool(conn.scalar(select(func.pg_try_advisory_xact_lock(func.hashtextextended(name, 0)))))


def lock(conn: Connection, name: str) -> None:
    """Wait for an advisory lock and keep it until the transaction ends."""
    conn.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))
