"""Transactions that outlast a database which is away for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

log = structlog.get_logger(__name__)

T = TypeVar("T")

# Long enough for a restart of the database.
SECONDS = 60.0


def with_retries(engine: Engine, step: Callable[[Connection], T]) -> T:
    """Run a transaction, again and again while the database is away or busy.

    After a connection is lost nobody knows whether its commit was made: only for steps that find
    out by themselves, by the fence or by their condition.
    """
    deadline, pause = time.monotonic() + SECONDS, 0.05
    while True:
        try:
            with engine.begin() as conn:
                return step(conn)
        except DBAPIError as error:
            if not _away(error) or time.monotonic() > deadline:
                raise
            # A connection that was cut while it lay in the pool says nothing about the next.
            log.info("once more", error=repr(error))
        time.sleep(pause)
        pause = min(2 * pause, 2.0)


def _away(error: DBAPIError) -> bool:
    return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
