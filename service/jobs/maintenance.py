"""What is done now and then by whoever reconciles: check the invariants, let go of what is old."""

from __future__ import annotations

from datetime import timedelta

import structlog
from sqlalchemy import Engine

from service.core.settings import Settings
from service.store import invariants, maintenance_state, retention
from service.store.retention import RetentionAges

log = structlog.get_logger(__name__)


def run_due_maintenance(engine: Engine, settings: Settings) -> None:
    """Each chore at most once in its time, on all machines together."""
    with engine.begin() as conn:
        if maintenance_state.due(conn, "checked_at", timedelta(seconds=settings.check_seconds)):
            patience = timedelta(seconds=60 * settings.requeue_seconds + settings.lease_seconds)
            checks = {**invariants.JOBS, **invariants.MATRICES}
            found = invariants.violations(conn, checks, patience=patience)
            maintenance_state.keep_violations(conn, found)
            for rule, ids in found.items():
                log.error("broken rule", rule=rule, ids=ids)
    with engine.begin() as conn:
        if maintenance_state.due(conn, "swept_at", timedelta(seconds=settings.sweep_seconds)):
            log.info("swept", **retention.sweep(conn, _ages(settings)))


def _ages(settings: Settings) -> RetentionAges:
    return RetentionAges(
        jobs=_days(settings.keep_jobs_days),
        selections=_days(settings.keep_selections_days),
        revisions=_days(settings.keep_revisions_days),
    )


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)
