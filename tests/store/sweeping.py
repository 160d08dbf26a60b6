"""One batch of everything that is too old, on one connection."""

from __future__ import annotations

from sqlalchemy import Connection

from service.store import retention
from service.store.retention import RetentionAges


def sweep(conn: Connection, ages: RetentionAges) -> dict[str, int]:
    """How many of each kind went."""
    gone: dict[str, int] = {}
    for step in retention.steps(ages).values():
        for name, count in step(conn).items():
            gone[name] = gone.get(name, 0) + count
    return gone
