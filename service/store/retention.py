"""Delete what is old and no longer referred to, in batches that keep transactions short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, text

BATCH = 1000

# With its parts, which the database deletes after it.
_JOBS = """
DELETE FROM jobs WHERE id IN (
    SELECT id FROM jobs WHERE finished_at < now() - :age ORDER BY finished_at LIMIT :batch
    FOR UPDATE SKIP LOCKED)
"""

# A selection with stored answers stays. The jobs that made it go as well: found again by their
# request, they would lead nowhere.
_SELECTIONS = """
WITH gone AS (
    DELETE FROM selections WHERE id IN (
        SELECT s.id FROM selections s WHERE s.created_at < now() - :age
        AND NOT EXISTS (SELECT FROM answers a WHERE a.selection_id = s.id)
        AND NOT EXISTS (SELECT FROM jobs j WHERE {unlinked}) LIMIT :batch FOR UPDATE OF s SKIP LOCKED)
    RETURNING id
), makers AS (
    DELETE FROM jobs j USING gone WHERE j.selection_id = gone.id RETURNING j.id
)
SELECT (SELECT count(*) FROM gone) AS selections, (SELECT count(*) FROM makers) AS jobs
"""

# Jobs of earlier releases, and of workers of one that still runs, name their selection in the result only.
_UNLINKED = "j.kind = 'select' AND j.status = 'succeeded' AND j.selection_id IS NULL"
_LINK = f"""
UPDATE jobs SET selection_id = (convert_from(result, 'UTF8')::jsonb ->> 'selection_id')::uuid
WHERE id IN (SELECT j.id FROM jobs j WHERE {_UNLINKED} LIMIT :batch FOR UPDATE SKIP LOCKED)
"""  # noqa: S608

# A session whose caller vanished ends; what it knew stays.
_IDLE = """
UPDATE sessions SET status = 'expired' WHERE id IN (
    SELECT id FROM sessions WHERE status = 'open' AND updated_at < now() - :age ORDER BY updated_at
    LIMIT :batch FOR UPDATE SKIP LOCKED)
"""
_SESSIONS = """
DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE status <> 'open' AND updated_at < now() - :age ORDER BY updated_at
    LIMIT :batch FOR UPDATE SKIP LOCKED)
"""

# Those that wait for a paused webhook have no time at which they are sent.
_DELIVERIES = """
DELETE FROM deliveries WHERE id IN (
    SELECT id FROM deliveries WHERE created_at < now() - :age
    AND (delivered_at IS NOT NULL OR given_up_at IS NOT NULL OR NOT isfinite(available_at))
    LIMIT :batch FOR UPDATE SKIP LOCKED)
"""

# The newest revision always stays; an old one stays while a job, a selection or a session on it exists.
_REVISIONS = """
DELETE FROM matrix_revisions WHERE (matrix_id, revision) IN (
    SELECT v.matrix_id, v.revision FROM matrix_revisions v JOIN matrices m ON m.id = v.matrix_id
    WHERE v.revision < m.revision AND v.created_at < now() - :age
    AND NOT EXISTS (SELECT FROM jobs j WHERE (j.matrix_id, j.revision) = (v.matrix_id, v.revision))
    AND NOT EXISTS (SELECT FROM selections s WHERE (s.matrix_id, s.revision) = (v.matrix_id, v.revision))
    AND NOT EXISTS (SELECT FROM sessions s WHERE (s.matrix_id, s.revision) = (v.matrix_id, v.revision))
    LIMIT :batch)
RETURNING matrix_id
"""

# Of these matrices; what they took is taken off their matrix, in the same statement.
_ROWS = """
WITH gone AS (
    DELETE FROM matrix_rows r WHERE r.matrix_id = ANY(CAST(:matrices AS uuid[])) AND r.valid_to IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM matrix_revisions v
        WHERE v.matrix_id = r.matrix_id AND v.revision >= r.valid_from AND v.revision < r.valid_to)
    RETURNING r.matrix_id, octet_length(r.scores) + coalesce(octet_length(r.missing), 0)
        + coalesce(octet_length(r.confidences), 0) + coalesce(octet_length(r.states), 0)
        + coalesce(octet_length(r.repeats), 0) AS bytes
), less AS (
    UPDATE matrices m SET stored_bytes = greatest(0, m.stored_bytes - freed.bytes)
    FROM (SELECT matrix_id, sum(bytes) AS bytes FROM gone GROUP BY matrix_id) freed
    WHERE freed.matrix_id = m.id
)
SELECT count(*) FROM gone
"""

_COMPARISONS = """
DELETE FROM comparisons WHERE id IN (
    SELECT id FROM comparisons WHERE created_at < now() - :age ORDER BY created_at LIMIT :batch
    FOR UPDATE SKIP LOCKED)
"""

_ANSWERED = """
DELETE FROM idempotency_keys WHERE (workspace, key) IN (
    SELECT workspace, key FROM idempotency_keys WHERE created_at < now() - interval '24 hours'
    LIMIT :batch FOR UPDATE SKIP LOCKED)
"""

Step = Callable[[Connection], dict[str, int]]
"""Deletes one batch; how many rows of each kind went."""


@dataclass(frozen=True, slots=True)
class RetentionAges:
    """Maximum ages of rows, by kind; None keeps them forever. Ended sessions are kept as long as jobs."""

    jobs: timedelta | None
    selections: timedelta | None
    revisions: timedelta | None
    idle_sessions: timedelta = timedelta(days=7)


def steps(ages: RetentionAges) -> Mapping[str, Step]:
    """What there is to delete, in this order, each for itself."""
    found: dict[str, Step] = {}
    found["idle_sessions"] = _delete("idle_sessions", _IDLE, ages.idle_sessions)
    if ages.jobs is not None:
        found["sessions"] = _delete("sessions", _SESSIONS, ages.jobs)
        found["jobs"] = _delete("jobs", _JOBS, ages.jobs)
        found["comparisons"] = _delete("comparisons", _COMPARISONS, ages.jobs)
        found["deliveries"] = _delete("deliveries", _DELIVERIES, ages.jobs)
    if ages.selections is not None:
        found["links"] = _delete("links", _LINK)
        found["selections"] = _selections(ages.selections)
    if ages.revisions is not None:
        found["revisions"] = _revisions(ages.revisions)
    found["idempotency_keys"] = _delete("idempotency_keys", _ANSWERED)
    return found


def _delete(name: str, statement: str, age: timedelta | None = None) -> Step:
    values = {"batch": BATCH} | ({} if age is None else {"age": age})
    return lambda conn: {name: conn.execute(text(statement), values).rowcount}


def _selections(age: timedelta) -> Step:
    statement = text(_SELECTIONS.format(unlinked=_UNLINKED))

    def step(conn: Connection) -> dict[str, int]:
        row = conn.execute(statement, {"age": age, "batch": BATCH}).one()
        return {"selections": row.selections, "jobs": row.jobs}

    return step


def _revisions(age: timedelta) -> Step:
    def step(conn: Connection) -> dict[str, int]:
        touched = list(conn.scalars(text(_REVISIONS), {"age": age, "batch": BATCH}))
        if not touched:
            return {"revisions": 0, "rows": 0}
        matrices = [str(matrix) for matrix in set(touched)]
        return {"revisions": len(touched), "rows": conn.scalar(text(_ROWS), {"matrices": matrices}) or 0}

    return step
