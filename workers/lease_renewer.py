"""Renews the lease of one attempt, from a thread, while the engine computes.

The engine cannot do it itself, because one call into LAPACK can take longer than the renewal interval.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, Self

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from service.core.settings import Settings
from service.engine.data.errors import Stopped
from service.jobs.lifecycle import LeaseTerms
from service.store import parts
from service.store.records import Claim

log = structlog.get_logger(__name__)

Reason = Literal["cancelled", "overdue", "fenced", "leaving"]


class LeaseRenewer:
    """Renews the lease between `__enter__` and `__exit__`; `check` raises when the computation must stop.

    A computation that does not ask for `stop_seconds` after that holds its process no longer: the part
    is given up, the process ends itself, and another is forked in its place.
    """

    def __init__(
        self,
        engine: Engine,
        part: Claim,
        settings: Settings,
        shutting_down: Callable[[], bool],
        give_up: Callable[[Reason], None],
    ) -> None:
        self._engine = engine
        self._part = part
        self._settings = settings
        self._lease = LeaseTerms.of(settings).lease
        self._shutting_down = shutting_down
        self._give_up = give_up
        self._fraction = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease-renewer", daemon=True)
        self._stopped_at = 0.0
        self.reason: Reason | None = None
        self.computing = True

    def check(self, fraction: float) -> None:
        """Record the progress; stop the computation if it must stop.

        Raises
        ------
        Stopped
            The job was cancelled or is overdue, another worker took the part, or this worker is shutting
            down.
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
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        conn: Connection | None = None
        while not self._closed.wait(self._settings.lease_renewal_seconds):
            self._kill_if_unresponsive()
            try:
                conn = conn or self._engine.connect()
                self._renew(conn)
            except SQLAlchemyError as error:
                # The lease outlasts several renewals. If it runs out, fencing by attempt protects the result.
                log.warning(
                    "lease renewal failed", job_id=self._part.job_id, part=self._part.index, error=repr(error)
                )
                _close(conn)
                conn = None
        _close(conn)

    def _renew(self, conn: Connection) -> None:
        status = parts.renew_lease(conn, self._part, fraction=self._fraction, lease=self._lease)
        if status is None:
            self._stop("fenced")
        elif status != "going":
            self._stop(status)
        elif self._shutting_down():
            self._stop("leaving")

    def _stop(self, reason: Reason) -> None:
        if self.reason is None:
            self._stopped_at = time.monotonic()
        self.reason = reason

    def _kill_if_unresponsive(self) -> None:
        if not self.computing or self.reason is None:
            return
        if time.monotonic() - self._stopped_at > self._settings.stop_seconds:
            log.error("the computation does not stop", job_id=self._part.job_id, part=self._part.index)
            self._give_up(self.reason)
            os.kill(os.getpid(), signal.SIGKILL)


def _close(conn: Connection | None) -> None:
    if conn is not None:
        conn.close()
