"""Retries transactions while the database is unavailable for a short time."""

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
    """Run a transaction; retry it while the database is unavailable or busy.

    When a connection is lost it is unknown whether its transaction was committed. So use this only for
    steps that check this themselves, by the attempt number or another condition.
    """
    deadline, pause = time.monotonic() + SECONDS, 0.05
    while True:
        try:
            with engine.begin() as conn:
                return step(conn)
        except DBAPIError as error:
            if not _is_unavailable(error) or time.monotonic() > deadline:
                raise
            # A pooled connection that was cut does not mean that the next one fails too.
            log.info("transaction retried", error=repr(error))
        time.sleep(pause)
        pause = min(2 * pause, 2.0)


def _is_unavailable(error: DBAPIError) -> bool:
    return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
