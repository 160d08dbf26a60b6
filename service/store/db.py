"""Connections to Postgres."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, create_engine, func, select


def make_engine(url: str, *, pool_size: int = 10, application: str = "tastetest") -> Engine:
    """An engine whose sessions keep UTC, check a pooled connection before use and never wait for ever."""
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args={
            "application_name": application,
            "connect_timeout": 5,
            "options": "-c timezone=UTC -c lock_timeout=10s -c statement_timeout=60s "
            "-c idle_in_transaction_session_timeout=60s",
        },
    )


def try_lock(conn: Connection, name: str) -> bool:
    """Take an advisory lock until the transaction ends; False when somebody holds it."""
    return bool(conn.scalar(select(func.pg_try_advisory_xact_lock(func.hashtextextended(name, 0)))))
