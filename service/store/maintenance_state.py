"""One row that remembers what the reconcilers of all machines did and found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, func, or_, select, text, update

from service.store.tables import upkeep

Task = Literal["checked_at", "swept_at"]

_FAILED = text("""
UPDATE upkeep SET failures = failures || jsonb_build_object(
    CAST(:task AS text), coalesce((failures ->> CAST(:task AS text))::bigint, 0) + 1)
""")


@dataclass(frozen=True, slots=True)
class MaintenanceState:
    """Since the database was made.

    Attributes
    ----------
    reconciled_at : datetime, optional
        When a reconciler last ran.
    leases_expired, rings_repeated : int
        Attempts whose worker was lost; rings nobody had answered.
    violations : dict of str to list of str
        Rules found broken at the last check, with the first ids that break them.
    failures : dict of str to int
        Task of the reconciler or of maintenance → how often it failed.
    """

    reconciled_at: datetime | None
    leases_expired: int
    rings_repeated: int
    violations: Mapping[str, Any]
    failures: Mapping[str, int]


def read(conn: Connection) -> MaintenanceState:
    """The row."""
    u = upkeep.c
    row = conn.execute(
        select(u.reconciled_at, u.leases_expired, u.rings_repeated, u.violations, u.failures)
    ).one()
    return MaintenanceState(**row._mapping)


def count(conn: Connection, *, expired: int, rung: int) -> None:
    """A reconciler ran."""
    u = upkeep.c
    conn.execute(
        update(upkeep).values(
            reconciled_at=func.now(),
            leases_expired=u.leases_expired + expired,
            rings_repeated=u.rings_repeated + rung,
        )
    )


def due(conn: Connection, what: Task, every: timedelta) -> bool:
    """Whether a chore is due; it counts as done now."""
    last = upkeep.c[what]
    late = or_(last.is_(None), last < func.now() - every)
    return conn.execute(update(upkeep).where(late).values({what: func.now()})).rowcount == 1


def due_now(conn: Connection, what: Task) -> None:
    """Let a chore be due again at once: it was not finished."""
    conn.execute(update(upkeep).values({what: None}))


def count_failure(conn: Connection, task: str) -> None:
    """A task failed."""
    conn.execute(_FAILED, {"task": task})


def keep_violations(conn: Connection, found: Mapping[str, Any]) -> None:
    """What the check found, in place of what the one before did."""
    conn.execute(update(upkeep).values(violations=dict(found)))
