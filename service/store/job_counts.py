"""How many jobs there are in each state, for dashboards."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from sqlalchemy import Connection, func, select

from service.store import maintenance_state, tables
from service.store.maintenance_state import MaintenanceState
from service.store.tables import deliveries, jobs, parts, webhooks


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
        How long the longest-waiting queued part has been ready for a worker; 0 when none is.
    failures : int
        Attempts that failed or whose worker was lost, over all stored jobs.
    reconciled_ago_seconds : float
        Since a reconciler last ran; infinite when none ever has.
    webhooks_paused : int
        Webhooks nothing is sent to after many failures.
    oldest_delivery_seconds : float
        How long the message that waits longest could have been sent to a webhook that takes any; 0 when
        none waits.
    maintenance : MaintenanceState
        What the reconcilers did and found.
    """

    jobs: dict[str, int]
    parts: dict[str, int]
    oldest_queued_seconds: float
    failures: int
    reconciled_ago_seconds: float
    webhooks_paused: int
    oldest_delivery_seconds: float
    maintenance: MaintenanceState


def count_jobs(conn: Connection) -> JobCounts:
    """Count, by the database's clock."""
    p = parts.c
    by_status = select(jobs.c.status, func.count()).group_by(jobs.c.status)
    open_parts = select(p.status, func.count()).where(p.status.in_(("queued", "running"))).group_by(p.status)
    waited = func.extract("epoch", func.now() - func.min(p.available_at))
    oldest = conn.scalar(select(waited).where(p.status == "queued"))
    ago = conn.scalar(select(func.extract("epoch", func.now() - tables.maintenance.c.reconciled_at)))
    return JobCounts(
        jobs=dict(list(conn.execute(by_status))),
        parts=dict(list(conn.execute(open_parts))),
        oldest_queued_seconds=max(float(oldest or 0), 0.0),
        failures=conn.scalar(select(func.sum(p.failures)).where(p.failures > 0)) or 0,
        reconciled_ago_seconds=inf if ago is None else max(float(ago), 0.0),
        webhooks_paused=conn.scalar(select(func.count()).where(webhooks.c.paused_at.is_not(None))) or 0,
        oldest_delivery_seconds=_oldest_delivery(conn),
        maintenance=maintenance_state.read(conn),
    )


def _oldest_delivery(conn: Connection) -> float:
    d, w = deliveries.c, webhooks.c
    waits = (d.delivered_at.is_(None), d.given_up_at.is_(None), d.available_at <= func.now())
    # A webhook that failed lately rests: what waits for it waits for the receiver.
    query = select(func.extract("epoch", func.now() - func.min(d.available_at)))
    found = conn.scalar(query.select_from(deliveries.join(webhooks)).where(*waits, w.failures == 0))
    return max(float(found or 0), 0.0)
