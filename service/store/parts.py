"""The steps of a part's life, each as one statement; `service.jobs.lifecycle` combines them into
transactions.

Locks are always taken on the job first, then on the part, so that no two steps can deadlock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, or_, select, text, update

from service.store.records import UNFINISHED, Claim
from service.store.tables import jobs, matrix_revisions, parts
from service.store.workspace_scope import mine, workspace

_CLAIM = (
    parts.c.job_id, parts.c.index, parts.c.attempt, parts.c.worker, parts.c.role, parts.c.stage, parts.c.spec,
    jobs.c.parts_total, jobs.c.kind, jobs.c.settings, jobs.c.matrix_id, jobs.c.revision, jobs.c.request_hash,
    matrix_revisions.c.content_hash, jobs.c.asked_by,
)  # fmt: skip

# In one round trip: end the job, and add messages for its workspace's webhooks to the outbox.
_END = text("""
WITH ended AS (
    UPDATE jobs SET status = :status, result = :result, selection_id = :selection_id,
        error = CAST(:error AS jsonb), finished_at = now(),
        parts_done = CASE WHEN :status = 'succeeded' THEN parts_total ELSE parts_done END
    WHERE id = :job_id AND jobs.workspace = coalesce(:workspace, jobs.workspace) RETURNING *
)
INSERT INTO deliveries (id, webhook_id, job_id, body, attempt, available_at, created_at)
SELECT gen_random_uuid(), w.id, j.id, json_build_object(
    'type', 'job.' || j.status,
    'timestamp', to_char(j.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'data', json_build_object(
        'id', j.id, 'kind', j.kind, 'status', j.status, 'matrix_id', j.matrix_id, 'revision', j.revision,
        'error', j.error, 'result', CASE WHEN j.status = 'succeeded' THEN '/jobs/' || j.id || '/result' END)
)::text, 0, CASE WHEN w.paused_at IS NULL THEN now() ELSE 'infinity' END, now()
FROM ended AS j JOIN webhooks AS w ON w.workspace = j.workspace
""")

Pulse = Literal["going", "cancelled", "overdue"]


@dataclass(frozen=True, slots=True)
class LockedJob:
    """A job whose row this transaction has locked."""

    id: str
    status: str
    parts_done: int
    parts_total: int
    cancel_requested: bool
    max_attempts: int


@dataclass(frozen=True, slots=True)
class PartKey:
    """A part at one attempt by one worker."""

    job_id: str
    index: int
    attempt: int
    worker: str


def claim(conn: Connection, job_id: str, index: int, *, worker: str, lease: timedelta) -> Claim | None:
    """Claim a queued part by one conditional UPDATE, so a second notification claims nothing."""
    ready = and_(_is(job_id, index), parts.c.status == "queued", parts.c.available_at <= func.now())
    held = (
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.status.in_(UNFINISHED), ~jobs.c.cancel_requested)
        .where(exists().where(ready))
        .values(status="running", started_at=func.coalesce(jobs.c.started_at, func.now()))
        .returning(jobs.c.id)
        .cte("held")
    )
    return _take(conn, and_(ready, parts.c.job_id == held.c.id), worker, lease)


def claim_assembly(conn: Connection, job_id: str, *, worker: str, lease: timedelta) -> Claim | None:
    """Claim the assembly, in the transaction that finished the last part."""
    waiting = and_(parts.c.job_id == job_id, parts.c.role == "assemble", parts.c.status == "waiting")
    return _take(conn, waiting, worker, lease)


def open_next_stage(conn: Connection, job_id: str, stage: int) -> int | None:
    """Queue the parts of the stage after this one, if all of this one are done; the first of them."""
    p = parts.c
    mine = and_(p.job_id == job_id, p.role == "compute")
    undone = select(p.index).where(mine, p.stage <= stage, p.status != "done")
    following = update(parts).where(mine, p.stage == stage + 1, p.status == "waiting", ~undone.exists())
    opened = conn.scalars(following.values(status="queued").returning(p.index)).all()
    return min(opened, default=None)


def unnotified(conn: Connection, job_id: str) -> Sequence[int]:
    """Queued parts without a notification so far; from now on they count as notified."""
    fresh = and_(parts.c.job_id == job_id, parts.c.status == "queued", parts.c.notified_at.is_(None))
    return conn.scalars(
        update(parts).where(fresh).values(notified_at=func.now()).returning(parts.c.index)
    ).all()


def renew_lease(conn: Connection, part: Claim, *, fraction: float, lease: timedelta) -> Pulse | None:
    """Renew the lease; returns the job's state, or None if another worker owns the part."""
    late = jobs.c.deadline_at < func.now()
    pulse: Pulse | None = conn.scalar(
        update(parts)
        .where(_held_by(part), jobs.c.id == parts.c.job_id)
        .values(lease_until=func.now() + lease, fraction=func.greatest(parts.c.fraction, fraction))
        .returning(case((jobs.c.cancel_requested, "cancelled"), (late, "overdue"), else_="going"))
    )
    return pulse


def lock_job(conn: Connection, job_id: str, *, wait: bool = True) -> LockedJob | None:
    """Lock the job until the transaction ends; without `wait`, None too when somebody has locked it."""
    j = jobs.c
    columns = (j.id, j.status, j.parts_done, j.parts_total, j.cancel_requested, j.max_attempts)
    one = select(*columns).where(j.id == job_id, mine(conn, jobs))
    held = one.with_for_update(key_share=True, skip_locked=not wait)
    row = conn.execute(held).one_or_none()
    return None if row is None else LockedJob(**row._mapping)


def end_attempt(conn: Connection, part: Claim | PartKey, **values: object) -> bool:
    """End this attempt and set the part's columns; False if another worker owns the part."""
    ended = update(parts).where(_held_by(part)).values(lease_until=None, **values)
    return conn.execute(ended).rowcount == 1


def failures(conn: Connection, part: Claim | PartKey) -> int | None:
    """How often the part failed before this attempt; None if another worker owns the part."""
    return conn.scalar(select(parts.c.failures).where(_held_by(part)))


def count_done(conn: Connection, job_id: str) -> bool:
    """Count one more finished part; returns whether it was the last."""
    row = conn.execute(
        update(jobs)
        .where(jobs.c.id == job_id)
        .values(parts_done=jobs.c.parts_done + 1)
        .returning(jobs.c.parts_done, jobs.c.parts_total)
    ).one()
    return bool(row.parts_done == row.parts_total)


def results(
    conn: Connection, job_id: str, *, before: int | None = None
) -> list[tuple[Mapping[str, Any], bytes]]:
    """Specs of the parts, or of those of stages before one, and what they computed, in their order."""
    p = parts.c
    wanted = and_(p.job_id == job_id, p.role == "compute")
    if before is not None:
        wanted = and_(wanted, p.stage < before)
    rows = conn.execute(select(p.spec, p.result).where(wanted).order_by(p.index))
    return [(row.spec, row.result) for row in rows]


def results_so_far(conn: Connection, job_id: str) -> list[tuple[Mapping[str, Any], bytes]]:
    """Specs of the finished parts and what they computed, in their order."""
    done = and_(parts.c.job_id == job_id, parts.c.role == "compute", parts.c.result.is_not(None))
    rows = conn.execute(select(parts.c.spec, parts.c.result).where(done).order_by(parts.c.index))
    return [(row.spec, row.result) for row in rows]


def running(conn: Connection, job_id: str) -> bool:
    """Whether a worker computes a part of this job."""
    return bool(conn.scalar(select(exists().where(parts.c.job_id == job_id, parts.c.status == "running"))))


def cancel_open(conn: Connection, job_id: str, *, also_running: bool) -> None:
    """Cancel the parts that are not running and, with `also_running`, the others; their workers cannot write
    then.
    """
    open_ = ["waiting", "queued", "running"] if also_running else ["waiting", "queued"]
    mine = and_(parts.c.job_id == job_id, parts.c.status.in_(open_))
    conn.execute(update(parts).where(mine).values(status="cancelled", lease_until=None))


def set_job(conn: Connection, job_id: str, **values: object) -> None:
    """Set columns of a job that this transaction has locked."""
    conn.execute(update(jobs).where(jobs.c.id == job_id, mine(conn, jobs)).values(**values))


def end_job(
    conn: Connection,
    job: LockedJob,
    status: str,
    *,
    result: bytes | None = None,
    error: Mapping[str, Any] | None = None,
    selection_id: str | None = None,
) -> None:
    """Give the job its final status, queue messages to webhooks, and delete the results of its parts."""
    problem = None if error is None else orjson.dumps(dict(error)).decode()
    end = {
        "job_id": job.id,
        "status": status,
        "result": result,
        "error": problem,
        "selection_id": selection_id,
    }
    conn.execute(_END, end | {"workspace": workspace(conn)})
    if job.parts_total > 1:
        conn.execute(
            update(parts).where(parts.c.job_id == job.id, parts.c.result.isnot(None)).values(result=None)
        )


def lost(conn: Connection, limit: int) -> list[PartKey]:
    """Running parts whose lease has run out."""
    p = parts.c
    dead = select(p.job_id, p.index, p.attempt, p.worker).where(
        p.status == "running", p.lease_until < func.now()
    )
    return [PartKey(**row._mapping) for row in conn.execute(dead.limit(limit))]


def overdue(conn: Connection, limit: int) -> list[str]:
    """Unfinished jobs whose deadline has passed."""
    late = select(jobs.c.id).where(jobs.c.status.in_(UNFINISHED), jobs.c.deadline_at < func.now())
    return list(conn.scalars(late.limit(limit)))


def ready(conn: Connection) -> tuple[int, int]:
    """How many parts are ready to be claimed: those without a notification, and those with one."""
    p = parts.c
    notified = func.count(p.notified_at)
    row = conn.execute(
        select(func.count() - notified, notified).where(p.status == "queued", p.available_at <= func.now())
    ).one()
    return row[0], row[1]


def missed_notifications(conn: Connection, *, older: timedelta, limit: int) -> list[tuple[str, int]]:
    """Ready parts without a notification, then those notified longest ago; they count as notified now."""
    p = parts.c
    stale = (
        select(p.job_id, p.index)
        .where(p.status == "queued", p.available_at <= func.now())
        .where(or_(p.notified_at.is_(None), p.notified_at < func.now() - older))
        .order_by(p.notified_at.nulls_first(), p.job_id, p.index)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte("stale")
    )
    rows = conn.execute(
        update(parts)
        .where(p.job_id == stale.c.job_id, p.index == stale.c.index)
        .values(notified_at=func.now())
        .returning(p.job_id, p.index)
    )
    return sorted((job_id, index) for job_id, index in rows)


def _take(conn: Connection, which: ColumnElement[bool], worker: str, lease: timedelta) -> Claim | None:
    version = and_(
        matrix_revisions.c.matrix_id == jobs.c.matrix_id, matrix_revisions.c.revision == jobs.c.revision
    )
    row = conn.execute(
        update(parts)
        .where(which, jobs.c.id == parts.c.job_id, version)
        .values(
            status="running",
            attempt=parts.c.attempt + 1,
            lease_until=func.now() + lease,
            fraction=0.0,
            worker=worker,
        )
        .returning(*_CLAIM)
    ).one_or_none()
    if row is None:
        return None
    fields = dict(row._mapping)
    role = fields.pop("role")
    return Claim(**fields | {"spec": fields["spec"] if role == "compute" else None})


def _is(job_id: str, index: int) -> ColumnElement[bool]:
    return and_(parts.c.job_id == job_id, parts.c.index == index)


def _held_by(part: Claim | PartKey) -> ColumnElement[bool]:
    return and_(
        _is(part.job_id, part.index),
        parts.c.status == "running",
        parts.c.attempt == part.attempt,
        parts.c.worker == part.worker,
    )
