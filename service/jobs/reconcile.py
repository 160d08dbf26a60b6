"""Put right what died: lost parts go back to the queue or end their job, missed notifications are repeated.

Nothing here waits for long: what another transaction has locked is left to the next run, and a step that
fails is counted and keeps no other from its work. Maintenance is a task of its own.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from sqlalchemy import Engine, text

from service.core.settings import Settings
from service.jobs import lifecycle
from service.jobs.maintenance import LOCK_TIMEOUT, attempt
from service.jobs.notifier import WorkerNotifier
from service.store import maintenance_state, parts
from service.store.database import try_lock
from service.store.parts import PartKey

# As many as one run takes on; the next comes soon.
BATCH = 500


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """What one run found: leases that had run out, and parts whose workers were notified again."""

    expired: int
    notified: int


def reconcile(engine: Engine, notifier: WorkerNotifier, settings: Settings) -> ReconcileReport | None:
    """One run; None when another reconciler is at it."""
    run = _Run(engine, notifier, settings)
    with engine.begin() as guard:
        if not try_lock(guard, "tastetest.reconcile"):
            return None
        attempt(engine, "requeue", run.requeue)
        attempt(engine, "expire", run.expire)
        attempt(engine, "find unheard", run.find_missed)
        attempt(engine, "count", run.count)
    # Outside the lock: a frozen broker takes its time.
    notifier.notify_all(run.missed)
    return ReconcileReport(expired=run.expired, notified=len(run.missed))


class _Run:
    def __init__(self, engine: Engine, notifier: WorkerNotifier, settings: Settings) -> None:
        self._engine = engine
        self._notifier = notifier
        self._settings = settings
        self.expired = 0
        self.missed: list[tuple[str, int]] = []

    def requeue(self) -> None:
        """Give lost parts back, each in a transaction of its own."""
        with self._engine.begin() as conn:
            lost = parts.lost(conn, BATCH)
        self.expired = len(lost)
        for part in lost:
            attempt(self._engine, "requeue", partial(self._requeue_one, part))

    def _requeue_one(self, part: PartKey) -> None:
        terms = lifecycle.LeaseTerms.of(self._settings)
        # Fenced: it was finished or taken back since we looked, or its job is locked at this moment.
        with contextlib.suppress(lifecycle.LeaseLost), self._engine.begin() as conn:
            conn.execute(text(LOCK_TIMEOUT))
            lifecycle.retry(conn, part, lifecycle.LOST, terms, wait=False)

    def expire(self) -> None:
        """End the jobs whose deadline has passed."""
        with self._engine.begin() as conn:
            overdue = parts.overdue(conn, BATCH)
        for job_id in overdue:
            attempt(self._engine, "expire", partial(self._expire_one, job_id))

    def _expire_one(self, job_id: str) -> None:
        with self._engine.begin() as conn:
            conn.execute(text(LOCK_TIMEOUT))
            lifecycle.expire(conn, job_id, wait=False)

    def find_missed(self) -> None:
        """The parts to notify workers of."""
        waiting = self._notifier.waiting()
        with self._engine.begin() as conn:
            fresh, notified = parts.ready(conn)
            # As many as were lost, not all that are late: a long queue must not fill with doubled ones.
            limit = min(BATCH, fresh + max(0, notified - waiting))
            older = timedelta(seconds=self._settings.requeue_seconds)
            self.missed = parts.missed_notifications(conn, older=older, limit=limit)

    def count(self) -> None:
        """Say that a reconciler ran."""
        with self._engine.begin() as conn:
            conn.execute(text(LOCK_TIMEOUT))
            maintenance_state.count(conn, expired=self.expired, repeated=len(self.missed))
