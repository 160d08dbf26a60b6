"""One row that records what the reconcilers of all machines did and found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, func, or_, select, text, update

from service.store.tables import maintenance

Task = Literal["checked_at", "swept_at"]

_FAILED = text("""
UPDATE upkeep SET failures = failures || jsonb_build_object(
    CAST(:task AS text), coalesce((failures ->> CAST(:task AS text))::bigint, 0) + 1)
""")


@dataclass(frozen=True, slots=True)
class MaintenanceState:
    """Totals since the database was created.

    Attributes
    ----------
    reconciled_at : datetime, optional
        When a reconciler last ran.
    leases_expired, notifications_repeated : int
        Attempts whose worker was lost; notifications sent again because no worker had answered.
    violations : dict of str to list of str
        Rules violated at the last check, with the first ids that violate them.
    failures : dict of str to int
        Task of the reconciler or of maintenance → how often it failed.
    """

    reconciled_at: datetime | None
    leases_expired: int
    notifications_repeated: int
    violations: Mapping[str, Any]
    failures: Mapping[str, int]


def read(conn: Connection) -> MaintenanceState:
    """The current totals."""
    m = maintenance.c
    repeated = m.notifications_repeated.label("notifications_repeated")
    row = conn.execute(select(m.reconciled_at, m.leases_expired, repeated, m.violations, m.failures)).one()
    return MaintenanceState(**row._mapping)


def count(conn: Connection, *, expired: int, repeated: int) -> None:
    """Record one run of the reconciler."""
    m = maintenance.c
    conn.execute(
        update(maintenance).values(
            reconciled_at=func.now(),
            leases_expired=m.leases_expired + expired,
            notifications_repeated=m.notifications_repeated + repeated,
        )
    )


def due(conn: Connection, what: Task, every: timedelta) -> bool:
    """Whether a maintenance task is due; if so, it counts as done now."""
    last = maintenance.c[what]
    late = or_(last.is_(None), last < func.now() - every)
    return conn.execute(update(maintenance).where(late).values({what: func.now()})).rowcount == 1


def due_now(conn: Connection, what: Task) -> None:
    """Make an unfinished maintenance task due again at once."""
    conn.execute(update(maintenance).values({what: None}))


def count_failure(conn: Connection, task: str) -> None:
    """Count a failure of a task."""
    conn.execute(_FAILED, {"task": task})


def keep_violations(conn: Connection, found: Mapping[str, Any]) -> None:
    """Replace the violations of the previous check by these."""
    conn.execute(update(maintenance).values(violations=dict(found)))
