"""How many jobs there are in each state, for dashboards."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from sqlalchemy import Connection, func, select

from service.store import maintenance_state, tables
from service.store.maintenance_state import MaintenanceState
from service.store.tables import jobs, parts


@dataclass(frozen=True, slots=True)
class JobCounts:
    """Counts at one moment.

    Attributes
    ----------
    jobs : dict of str to int
        Status → jobs.
    parts : dict of str to int
        Status → parts of unfinished jobs.
    oldest_queued_seconds : float
        How long the part that waits longest could have been taken; 0 when none waits.
    failures : int
        Attempts that failed or whose worker was lost, of all jobs still kept.
    reconciled_ago_seconds : float
        Since a reconciler last ran; infinite when none ever has.
    upkeep : MaintenanceState
        What the reconcilers did and found.
    """

    jobs: dict[str, int]
    parts: dict[str, int]
    oldest_queued_seconds: float
    failures: int
    reconciled_ago_seconds: float
    upkeep: MaintenanceState


def take(conn: Connection) -> JobCounts:
    """Count now, by the database's clock."""
    p = parts.c
    by_status = select(jobs.c.status, func.count()).group_by(jobs.c.status)
    open_parts = select(p.status, func.count()).where(p.status.in_(("queued", "running"))).group_by(p.status)
    waited = func.extract("epoch", func.now() - func.min(p.available_at))
    oldest = conn.scalar(select(waited).where(p.status == "queued"))
    ago = conn.scalar(select(func.extract("epoch", func.now() - tables.upkeep.c.reconciled_at)))
    return JobCounts(
        jobs=dict(list(conn.execute(by_status))),
        parts=dict(list(conn.execute(open_parts))),
        oldest_queued_seconds=max(float(oldest or 0), 0.0),
        failures=conn.scalar(select(func.coalesce(func.sum(p.failures), 0))) or 0,
        reconciled_ago_seconds=inf if ago is None else max(float(ago), 0.0),
        upkeep=maintenance_state.read(conn),
    )
