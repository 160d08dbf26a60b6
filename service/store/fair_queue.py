"""Which part a free worker takes next: start-time fair queueing over the workspaces.

Every workspace has a start and a finish on a scale of computing seconds. A part starts where its
workspace's last one finished, but not before the latest start of all, so that a workspace that was idle
has saved up nothing; it finishes its estimated seconds later. The workspace that would start first is
next. So a workspace that asks for much waits for itself, and one that asks for little hardly waits.
P. Goyal, H. Vin and H. Cheng: Start-time Fair Queueing, SIGCOMM 1996.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

# The names of workspaces with unfinished jobs are skipped to one by one: their jobs may be many.
_NEXT = text("""
WITH RECURSIVE names (workspace) AS (
    (SELECT workspace FROM jobs WHERE status IN ('queued', 'running') ORDER BY workspace LIMIT 1)
    UNION ALL
    SELECT (SELECT j.workspace FROM jobs j WHERE j.status IN ('queued', 'running')
            AND j.workspace > n.workspace ORDER BY j.workspace LIMIT 1)
    FROM names n WHERE n.workspace IS NOT NULL
), active AS (
    SELECT w.name, greatest(w.queue_finish, (SELECT max(queue_start) FROM workspaces)) AS starts, (
        SELECT count(*) FROM parts p JOIN jobs j ON j.id = p.job_id
        WHERE p.status = 'running' AND j.workspace = w.name) AS running
    FROM names n JOIN workspaces w ON w.name = n.workspace
), ready AS (
    SELECT a.name, a.starts, a.running, found.* FROM active a CROSS JOIN LATERAL (
        (SELECT j.id, p.index, j.part_seconds FROM jobs j CROSS JOIN LATERAL (
            SELECT p.index FROM parts p WHERE p.job_id = j.id AND p.status = 'queued'
            AND p.available_at <= now() ORDER BY p.index LIMIT 1) p
        WHERE j.workspace = a.name AND j.status = :preferred AND NOT j.cancel_requested
        ORDER BY j.id LIMIT 1)
        UNION ALL
        (SELECT j.id, p.index, j.part_seconds FROM jobs j CROSS JOIN LATERAL (
            SELECT p.index FROM parts p WHERE p.job_id = j.id AND p.status = 'queued'
            AND p.available_at <= now() ORDER BY p.index LIMIT 1) p
        WHERE j.workspace = a.name AND j.status = :other AND NOT j.cancel_requested
        ORDER BY j.id LIMIT 1)
        LIMIT 1
    ) found WHERE a.running < :most_running
)
SELECT name AS workspace, starts, part_seconds AS seconds, running, id::text AS job_id, index
FROM ready ORDER BY starts, name LIMIT 1
""")

_CHARGE = text("""
UPDATE workspaces SET queue_start = greatest(queue_start, :starts),
    queue_finish = greatest(queue_finish, :starts) + :seconds
WHERE name = :workspace
""")


@dataclass(frozen=True, slots=True)
class NextPart:
    """A part that could be taken.

    Attributes
    ----------
    workspace : str
    starts, seconds : float
        Its start on the scale of computing seconds, and its estimated length.
    running : int
        Parts of its workspace that run beside it.
    job_id, index
    """

    workspace: str
    starts: float
    seconds: float
    running: int
    job_id: str
    index: int


def next_part(conn: Connection, *, begin: bool, most_running: int) -> NextPart | None:
    """The part whose turn it is; None when none could be taken.

    Parameters
    ----------
    begin : bool
        Whether jobs that nobody has begun come before further parts of those under way. Callers
        alternate, so that of one workspace's jobs a long one keeps no short one waiting.
    most_running : int
        Of one workspace; a few taken at one moment may go over it.
    """
    preferred, other = ("queued", "running") if begin else ("running", "queued")
    row = conn.execute(
        _NEXT, {"preferred": preferred, "other": other, "most_running": most_running}
    ).one_or_none()
    return None if row is None else NextPart(**row._mapping)


def charge(conn: Connection, part: NextPart) -> None:
    """Note that a workspace was served this part."""
    values = {"workspace": part.workspace, "starts": part.starts, "seconds": part.seconds}
    conn.execute(_CHARGE, values)
