"""The beat of one attempt: a thread that renews the lease while the engine computes.

From a thread, because one call into LAPACK can take longer than a beat.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from service.engine.errors import Stopped
from service.jobs.life import Terms
from service.store import parts
from service.store.records import Claim

log = structlog.get_logger(__name__)

Reason = Literal["cancelled", "fenced", "leaving"]


class Beat:
    """Beats between `__enter__` and `__exit__`; `check` stops the computation when told to."""

    def __init__(
        self, engine: Engine, part: Claim, terms: Terms, seconds: float, leaving: Callable[[], bool]
    ) -> None:
        self._engine = engine
        self._part = part
        self._terms = terms
        self._seconds = seconds
        self._leaving = leaving
        self._fraction = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)
        self.reason: Reason | None = None

    def check(self, fraction: float) -> None:
        """Note the progress.

        Raises
        ------
        Stopped
            The part was cancelled or taken away, or this worker is leaving.
        """
        self._fraction = min(max(fraction, 0.0), 1.0)
        if self.reason is not None:
            raise Stopped(self.reason)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        conn: Connection | None = None
        while not self._over.wait(self._seconds):
            try:
                conn = conn or self._engine.connect()
                self._beat(conn)
            except SQLAlchemyError as error:
                # The lease outlasts several beats; if the database stays away, the fence decides.
                log.warning("beat failed", job_id=self._part.job_id, part=self._part.index, error=repr(error))
                _close(conn)
                conn = None
        _close(conn)

    def _beat(self, conn: Connection) -> None:
        cancelled = parts.beat(conn, self._part, fraction=self._fraction, lease=self._terms.lease)
        if cancelled is None:
            self.reason = "fenced"
        elif cancelled:
            self.reason = "cancelled"
        elif self._leaving():
            self.reason = "leaving"


def _close(conn: Connection | None) -> None:
    if conn is not None:
        conn.close()
