"""Let go of what is old and no longer referred to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, text

# So many at a time keep transactions short; what is left waits for the next sweep.
BATCH = 1000

_JOBS = """
DELETE FROM jobs WHERE id IN (
    SELECT id FROM jobs WHERE finished_at < now() - :age ORDER BY finished_at LIMIT :batch)
"""

# Answers stored on a selection refer to it.
_SELECTIONS = """
DELETE FROM selections WHERE id IN (
    SELECT s.id FROM selections s WHERE s.created_at < now() - :age
    AND NOT EXISTS (SELECT FROM answers a WHERE a.selection_id = s.id) LIMIT :batch)
"""

# A job whose selection went would be found again by its request, and lead nowhere.
_MAKERS = """
DELETE FROM jobs j WHERE j.kind = 'select' AND j.status = 'succeeded' AND NOT EXISTS (
    SELECT FROM selections s
    WHERE s.id = (convert_from(j.result, 'UTF8')::jsonb ->> 'selection_id')::uuid)
"""

_DELIVERIES = """
DELETE FROM deliveries WHERE created_at < now() - :age
AND (delivered_at IS NOT NULL OR given_up_at IS NOT NULL)
"""

# The newest revision always stays; an old one while a job or a selection was made from it.
_REVISIONS = """
DELETE FROM matrix_revisions WHERE (matrix_id, revision) IN (
    SELECT v.matrix_id, v.revision FROM matrix_revisions v JOIN matrices m ON m.id = v.matrix_id
    WHERE v.revision < m.revision AND v.created_at < now() - :age
    AND NOT EXISTS (SELECT FROM jobs j WHERE (j.matrix_id, j.revision) = (v.matrix_id, v.revision))
    AND NOT EXISTS (SELECT FROM selections s WHERE (s.matrix_id, s.revision) = (v.matrix_id, v.revision))
    LIMIT :batch)
"""

# What they took is taken off their matrix, in the same statement.
_ROWS = """
WITH gone AS (
    DELETE FROM matrix_rows r WHERE r.valid_to IS NOT NULL AND NOT EXISTS (
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

_ANSWERED = "DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'"


@dataclass(frozen=True, slots=True)
class RetentionAges:
    """How old what may become; None keeps it for ever."""

    jobs: timedelta | None
    selections: timedelta | None
    revisions: timedelta | None


def sweep(conn: Connection, ages: RetentionAges) -> dict[str, int]:
    """Delete what is older; how many of each kind went."""
    gone = {}
    for name, age, statement in (
        ("jobs", ages.jobs, _JOBS),
        ("selections", ages.selections, _SELECTIONS),
        ("revisions", ages.revisions, _REVISIONS),
    ):
        if age is not None:
            gone[name] = conn.execute(text(statement), {"age": age, "batch": BATCH}).rowcount
    if ages.jobs is not None:
        gone["deliveries"] = conn.execute(text(_DELIVERIES), {"age": ages.jobs}).rowcount
    if gone.get("selections"):
        gone["jobs"] = gone.get("jobs", 0) + conn.execute(text(_MAKERS)).rowcount
    if gone.get("revisions"):
        gone["rows"] = conn.scalar(text(_ROWS)) or 0
    conn.execute(text(_ANSWERED))
    return gone
