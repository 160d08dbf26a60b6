"""The beat of one attempt: a thread that renews the lease while the engine computes.

From a thread, because one call into LAPACK can take longer than a beat.
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
    """Beats between `__enter__` and `__exit__`; `check` stops the computation when told to.

    A computation that does not ask for `stop_seconds` after that holds its process no longer: the part
    is given up, the process ends itself, and another is forked in its place.
    """

    def __init__(
        self,
        engine: Engine,
        part: Claim,
        settings: Settings,
        leaving: Callable[[], bool],
        give_up: Callable[[Reason], None],
    ) -> None:
        self._engine = engine
        self._part = part
        self._settings = settings
        self._lease = LeaseTerms.of(settings).lease
        self._leaving = leaving
        self._give_up = give_up
        self._fraction = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)
        self._told_at = 0.0
        self.reason: Reason | None = None
        self.computing = True

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
        while not self._over.wait(self._settings.beat_seconds):
            self._end_if_deaf()
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
        pulse = parts.beat(conn, self._part, fraction=self._fraction, lease=self._lease)
        if pulse is None:
            self._tell("fenced")
        elif pulse != "going":
            self._tell(pulse)
        elif self._leaving():
            self._tell("leaving")

    def _tell(self, reason: Reason) -> None:
        if self.reason is None:
            self._told_at = time.monotonic()
        self.reason = reason

    def _end_if_deaf(self) -> None:
        if not self.computing or self.reason is None:
            return
        if time.monotonic() - self._told_at > self._settings.stop_seconds:
            log.error("the computation does not stop", job_id=self._part.job_id, part=self._part.index)
            self._give_up(self.reason)
            os.kill(os.getpid(), signal.SIGKILL)


def _close(conn: Connection | None) -> None:
    if conn is not None:
        conn.close()
