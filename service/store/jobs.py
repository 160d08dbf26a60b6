"""Jobs as callers see them, and their submission; `parts` has the steps of their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import orjson
from sqlalchemy import (
    Connection,
    Double,
    Row,
    Select,
    and_,
    bindparam,
    case,
    cast,
    func,
    lateral,
    select,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import insert as insert_or
from uuid6 import uuid7

from service.core.errors import Conflict, NotFound
from service.store import cursors
from service.store.records import UNFINISHED, JobRecord, MatrixRecord, Page
from service.store.tables import jobs, matrices, matrix_revisions, parts
from service.store.workspace_scope import EVERYONES, mine, workspace

# The predicate of the unique index: at most one of these for each request.
_REUSABLE = text("status IN ('queued', 'running', 'succeeded') AND NOT cancel_requested")

# Done of a job before the time left can be estimated; dividing by a smaller fraction may overflow.
LEAST_FRACTION = 1e-4

# The row after the last part is the assembly. The first part counts as notified, because the API notifies a
# worker of it after the commit.
_ADD_PARTS = text("""
INSERT INTO parts
    (job_id, index, role, stage, status, spec, attempt, failures, available_at, rung_at, fraction)
SELECT
    :job_id, place - 1,
    CASE WHEN place > :total THEN 'assemble' ELSE 'compute' END,
    coalesce((spec->>'stage')::smallint, 1),
    CASE WHEN place > :total OR (spec->>'stage')::smallint > 1 THEN 'waiting' ELSE 'queued' END,
    spec, 0, 0, now(), CASE WHEN place = 1 THEN now() END, 0
FROM jsonb_array_elements(CAST(:specs AS jsonb)) WITH ORDINALITY AS listed(spec, place)
""")


def get(conn: Connection, job_id: str) -> JobRecord:
    """One job with its progress.

    Raises
    ------
    NotFound
        No such job.
    """
    bound = workspace(conn)
    known = {"known": cursors.known_id(job_id, "job")} | ({} if bound is None else {"bound": bound})
    row = conn.execute(_one(scoped=bound is not None), known).one_or_none()
    if row is None:
        raise NotFound(f"There is no job {job_id!r}.")
    return _record(row)


def page(
    conn: Connection,
    cursor: str | None,
    limit: int,
    *,
    status: str | None = None,
    kind: str | None = None,
    matrix_id: str | None = None,
) -> Page[JobRecord]:
    """Jobs, newest first."""
    query = _records().where(mine(conn, jobs)).order_by(jobs.c.id.desc()).limit(limit + 1)
    if cursor is not None:
        query = query.where(jobs.c.id < cursors.decode_id(cursor))
    if status is not None:
        query = query.where(jobs.c.status == status)
    if kind is not None:
        query = query.where(jobs.c.kind == kind)
    if matrix_id is not None:
        query = query.where(jobs.c.matrix_id == cursors.known_id(matrix_id, "matrix"))
    found = [_record(row) for row in conn.execute(query)]
    return cursors.page(found, [job.id for job in found], limit)


def result(conn: Connection, job_id: str) -> bytes:
    """The result as it was stored.

    Raises
    ------
    Conflict
        The job has not succeeded (yet).
    """
    known = jobs.c.id == cursors.known_id(job_id, "job")
    row = conn.execute(select(jobs.c.status, jobs.c.result).where(known, mine(conn, jobs))).one_or_none()
    if row is None:
        raise NotFound(f"There is no job {job_id!r}.")
    if row.result is None:
        raise Conflict(f"The job is {row.status} and has no result.")
    return bytes(row.result)


def find_equal(conn: Connection, request_hash: str) -> JobRecord | None:
    """The unfinished or succeeded job of this request."""
    same = jobs.c.request_hash == request_hash
    row = conn.execute(_records().where(same, _REUSABLE, mine(conn, jobs))).one_or_none()
    return None if row is None else _record(row)


def share_matrix(conn: Connection, matrix: MatrixRecord) -> int:
    """Prevent deletion of the matrix until this transaction ends; returns the number of unfinished jobs.

    Raises
    ------
    NotFound
        It was deleted since `matrix` was read.
    """
    m, r = matrices.c, matrix_revisions.c
    unfinished = select(func.count()).where(jobs.c.status.in_(UNFINISHED), mine(conn, jobs))
    held = conn.scalar(
        select(unfinished.scalar_subquery())
        .select_from(matrices)
        .join(matrix_revisions, and_(r.matrix_id == m.id, r.revision == matrix.revision))
        .where(m.id == matrix.id, mine(conn, matrices))
        .with_for_update(read=True, key_share=True)
    )
    if held is None:
        raise NotFound(f"Matrix {matrix.id!r} in revision {matrix.revision} was deleted; upload it again.")
    return int(held)


def add(
    conn: Connection,
    *,
    kind: str,
    settings: Mapping[str, Any],
    matrix: MatrixRecord,
    request_hash: str,
    specs: Sequence[Mapping[str, Any]],
    max_attempts: int,
    deadline: timedelta,
    part_seconds: float = 1.0,
    asked_by: Mapping[str, str] | None = None,
) -> JobRecord | None:
    """Add a job and its parts in the workspace of its matrix; None if an equal job exists."""
    job_id = str(uuid7())
    home = select(matrices.c.workspace).where(matrices.c.id == matrix.id, mine(conn, matrices))
    added = conn.scalar(
        insert_or(jobs)
        .values(
            id=job_id,
            kind=kind,
            status="queued",
            settings=dict(settings),
            matrix_id=matrix.id,
            revision=matrix.revision,
            request_hash=request_hash,
            parts_total=len(specs),
            parts_done=0,
            part_seconds=part_seconds,
            max_attempts=max_attempts,
            deadline_at=func.now() + deadline,
            cancel_requested=False,
            created_at=func.now(),
            workspace=home.scalar_subquery(),
            asked_by=dict(asked_by) if asked_by else None,
        )
        .on_conflict_do_nothing(index_elements=["request_hash"], index_where=_REUSABLE)
        .returning(jobs.c.id)
    )
    if added is None:
        return None
    # A single part is computed and assembled in one step.
    rows = [*specs, {}] if len(specs) > 1 else specs
    conn.execute(_ADD_PARTS, {"job_id": job_id, "total": len(specs), "specs": orjson.dumps(rows).decode()})
    return get(conn, job_id)


def _records() -> Select[Any]:
    p = parts.c
    # Read from the parts and not stored on the job, so that it needs no lock and cannot become inconsistent.
    state = lateral(
        select(
            func.coalesce(func.avg(p.fraction).filter(p.role == "compute"), 0.0).label("fraction"),
            func.coalesce(func.max(p.attempt), 0).label("attempt"),
        ).where(p.job_id == jobs.c.id)
    )
    j, f = jobs.c, state.c.fraction
    # Workspaces take turns, so only their own jobs are in line before them. Ids grow with time.
    ahead = jobs.alias(EVERYONES)
    before = and_(ahead.c.workspace == j.workspace, ahead.c.status == "queued", ahead.c.id <= j.id)
    in_front = select(func.count()).where(before).scalar_subquery()
    elapsed = func.extract("epoch", func.now() - j.started_at)
    foreseeable = and_(j.status == "running", f >= LEAST_FRACTION)
    return select(
        j.id, j.kind, j.status, j.settings, j.matrix_id, j.revision, j.parts_total, j.parts_done,
        case((j.status == "succeeded", 1.0), else_=f).label("progress"),
        state.c.attempt,
        case((j.status == "queued", in_front)).label("place"),
        case((foreseeable, cast(elapsed * (1 - f) / f, Double))).label("seconds_left"),
        j.cancel_requested, j.created_at, j.started_at, j.finished_at, j.error,
    ).select_from(jobs.join(state, true()))  # fmt: skip


@cache
def _one(*, scoped: bool) -> Select[Any]:
    """The query that every waiting request repeats; it is built once, because building it is half its
    cost.
    """
    query = _records().where(jobs.c.id == bindparam("known"))
    return query.where(jobs.c.workspace == bindparam("bound")) if scoped else query


def _record(row: Row[Any]) -> JobRecord:
    return JobRecord(**row._mapping)
