"""Invariants of the database, as queries that find violations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Connection, text

# Each query finds the ids that violate a rule. Rules enforced by a CHECK or a trigger are not repeated here.
JOBS: Mapping[str, str] = {
    "a job has ended but a part of it is open": """
        SELECT j.id FROM jobs j JOIN parts p ON p.job_id = j.id
        WHERE j.status IN ('succeeded', 'failed', 'cancelled')
        AND p.status IN ('waiting', 'queued', 'running')
        AND j.finished_at > now() - CAST(:recent AS interval)""",
    "a job is unfinished but none of its parts can continue": """
        SELECT j.id FROM jobs j WHERE j.status IN ('queued', 'running') AND NOT EXISTS (
            SELECT FROM parts p WHERE p.job_id = j.id AND p.status IN ('queued', 'running'))""",
    "a job is queued but a part of it runs": """
        SELECT j.id FROM jobs j JOIN parts p ON p.job_id = j.id
        WHERE j.status = 'queued' AND p.status = 'running'""",
    "a cancelled job continues": """
        SELECT j.id FROM jobs j JOIN parts p ON p.job_id = j.id
        WHERE j.cancel_requested AND j.status IN ('queued', 'running')
        AND p.status IN ('queued', 'waiting')""",
    "the count of finished parts is wrong": """
        SELECT j.id FROM jobs j WHERE j.status IN ('queued', 'running') AND j.parts_done <> (
            SELECT count(*) FROM parts p
            WHERE p.job_id = j.id AND p.role = 'compute' AND p.status = 'done')""",
    "a part is done but has no result": """
        SELECT j.id FROM jobs j JOIN parts p ON p.job_id = j.id
        WHERE j.status IN ('queued', 'running') AND p.role = 'compute' AND p.status = 'done'
        AND p.result IS NULL""",
    "a part continues after its last allowed failure": """
        SELECT j.id FROM jobs j JOIN parts p ON p.job_id = j.id
        WHERE p.status IN ('queued', 'running') AND p.failures >= j.max_attempts""",
    "a part has waited too long without a notification": """
        SELECT p.job_id FROM parts p WHERE p.status = 'queued'
        AND greatest(p.available_at, p.rung_at) < now() - CAST(:patience AS interval)""",
    "a lease has run out long ago": """
        SELECT p.job_id FROM parts p WHERE p.status = 'running'
        AND p.lease_until < now() - CAST(:patience AS interval)""",
}

MATRICES: Mapping[str, str] = {
    "stored length does not match shape": """
        SELECT DISTINCT r.matrix_id FROM matrix_rows r JOIN matrices m ON m.id = r.matrix_id
        WHERE (r."binary" AND octet_length(r.scores) <> (m.n_examples + 7) / 8)
        OR octet_length(r.missing) <> (m.n_examples + 7) / 8
        OR r.scored <> m.n_examples - coalesce(bit_count(r.missing), 0)""",
    "the count of models is wrong": """
        SELECT m.id FROM matrices m
        JOIN matrix_revisions v ON v.matrix_id = m.id AND v.revision = m.revision
        WHERE v.n_models <> (
            SELECT count(*) FROM matrix_rows r WHERE r.matrix_id = m.id AND r.valid_to IS NULL)""",
}

SESSIONS: Mapping[str, str] = {
    "a session has an answer to an example not handed out": """
        SELECT s.id FROM sessions s JOIN session_answers a ON a.session_id = s.id
        WHERE a.place >= s.handed_out""",
    "a session handed out more than its budget": """
        SELECT s.id FROM sessions s WHERE s.handed_out > CAST(s.settings ->> 'budget' AS integer)""",
    "a session counts a look at answers that it does not have": """
        SELECT s.id FROM sessions s WHERE jsonb_array_length(s.looks) > 0
        AND CAST(s.looks -> -1 ->> 'size' AS integer) > (
            SELECT count(*) FROM session_answers a WHERE a.session_id = s.id)""",
}


def violations(
    conn: Connection, checks: Mapping[str, str], *, patience: timedelta, recent: timedelta = timedelta(days=1)
) -> dict[str, list[str]]:
    """The ids that violate each rule, at most ten per rule; empty if there is no violation."""
    found = {}
    for rule, query in checks.items():
        limited = text(f"SELECT DISTINCT found.* FROM ({query}) AS found LIMIT 10")  # noqa: S608
        values = {"patience": patience, "recent": recent}
        parameters = {name: value for name, value in values.items() if f":{name}" in query}
        offenders = [str(row[0]) for row in conn.execute(limited, parameters)]
        if offenders:
            found[rule] = offenders
    return found
