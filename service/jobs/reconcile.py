"""Put right what died: lost parts go back to the queue or end their job, unheard rings are repeated."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Engine

from service.core.settings import Settings
from service.jobs import lifecycle, maintenance
from service.jobs.notifier import WorkerNotifier
from service.store import maintenance_state, parts
from service.store.database import try_lock
from service.store.parts import PartKey

# As many as one run takes on; the next comes soon.
BATCH = 500


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """What one run found: leases that had run out, and parts rung again."""

    expired: int
    rung: int


def reconcile(engine: Engine, notifier: WorkerNotifier, settings: Settings) -> ReconcileReport | None:
    """One run; None when another reconciler is at it."""
    with engine.begin() as guard:
        if not try_lock(guard, "tastetest.reconcile"):
            return None
        lost = parts.lost(guard, BATCH)
        for part in lost:
            _count_lost(engine, part, lifecycle.LeaseTerms.of(settings))
        for job_id in parts.overdue(guard, BATCH):
            with engine.begin() as conn:
                lifecycle.expire(conn, job_id)
        waiting = notifier.waiting()
        with engine.begin() as conn:
            fresh, rung = parts.ready(conn)
            # As many as were lost, not all that are late: a long queue must not fill with doubled rings.
            limit = min(BATCH, fresh + max(0, rung - waiting))
            older = timedelta(seconds=settings.requeue_seconds)
            unheard = parts.missed_notifications(conn, older=older, limit=limit)
            maintenance_state.count(conn, expired=len(lost), rung=len(unheard))
        maintenance.run_due_maintenance(engine, settings)
    # Outside the lock: a frozen broker takes its time.
    notifier.notify_all(unheard)
    return ReconcileReport(expired=len(lost), rung=len(unheard))


def _count_lost(engine: Engine, part: PartKey, terms: lifecycle.LeaseTerms) -> None:
    # Fenced: it was finished or taken back since we looked.
    with contextlib.suppress(lifecycle.LeaseLost), engine.begin() as conn:
        lifecycle.retry(conn, part, lifecycle.LOST, terms)
