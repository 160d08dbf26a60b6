"""What is done now and then, apart from the reconciler: check the invariants, delete what is old.

Each task stands alone: one that fails, or waits for a lock, is counted and keeps no other from its work.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from service.core.settings import Settings
from service.store import invariants, maintenance_state, retention
from service.store.retention import BATCH, RetentionAges, Step

log = structlog.get_logger(__name__)

# A statement that waits longer leaves its task to the next time.
LOCK_TIMEOUT = "SET LOCAL lock_timeout = '1s'"


def run_due_maintenance(engine: Engine, settings: Settings) -> None:
    """Each task at most once in its time, on all machines together."""
    attempt(engine, "check", partial(_check, engine, settings))
    attempt(engine, "retention", partial(_delete_expired, engine, settings))


def attempt(engine: Engine, name: str, task: Callable[[], object]) -> bool:
    """Do a task; whether it succeeded. A failure is logged and counted, and goes no further."""
    try:
        task()
    except SQLAlchemyError as error:
        log.error("task failed", task=name, error=repr(error))
        try:
            with engine.begin() as conn:
                conn.execute(text(LOCK_TIMEOUT))
                maintenance_state.count_failure(conn, name)
        except SQLAlchemyError as also:
            log.error("failure not counted", task=name, error=repr(also))
        return False
    return True


def _is_due(engine: Engine, what: maintenance_state.Task, seconds: float) -> bool:
    # By itself, so that no lock on the shared row outlasts this moment.
    with engine.begin() as conn:
        conn.execute(text(LOCK_TIMEOUT))
        return maintenance_state.due(conn, what, timedelta(seconds=seconds))


def _check(engine: Engine, settings: Settings) -> None:
    if not _is_due(engine, "checked_at", settings.check_seconds):
        return
    patience = timedelta(seconds=60 * settings.requeue_seconds + settings.lease_seconds)
    checks = {**invariants.JOBS, **invariants.MATRICES, **invariants.SESSIONS}
    with engine.begin() as conn:
        found = invariants.violations(conn, checks, patience=patience)
    with engine.begin() as conn:
        maintenance_state.keep_violations(conn, found)
    for rule, ids in found.items():
        log.error("broken rule", rule=rule, ids=ids)


def _delete_expired(engine: Engine, settings: Settings) -> None:
    """Batches of everything until nothing is left or the time is over: then it is due again at once."""
    if not _is_due(engine, "swept_at", settings.delete_expired_seconds):
        return
    over = time.monotonic() + settings.delete_expired_budget_seconds
    gone: Counter[str] = Counter()
    finished = True
    for name, step in retention.steps(_ages(settings)).items():
        finished &= attempt(engine, f"retention of {name}", partial(_batches, engine, step, gone, over))
    if time.monotonic() >= over and finished:
        with engine.begin() as conn:
            maintenance_state.due_now(conn, "swept_at")
    log.info("swept", **gone)


def _batches(engine: Engine, step: Step, gone: Counter[str], over: float) -> None:
    while True:
        with engine.begin() as conn:
            conn.execute(text(LOCK_TIMEOUT))
            deleted = step(conn)
        gone.update(deleted)
        # At least one batch each time: what is old goes in the end, however little time there is.
        if max(deleted.values()) < BATCH or time.monotonic() >= over:
            return


def _ages(settings: Settings) -> RetentionAges:
    return RetentionAges(
        jobs=_days(settings.keep_jobs_days),
        selections=_days(settings.keep_selections_days),
        revisions=_days(settings.keep_revisions_days),
        idle_sessions=timedelta(days=settings.session_idle_days),
    )


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)
