"""What a reliability job has found so far."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from service.core.errors import Conflict, FieldError
from service.engine.planning.plan import mdad_plan
from service.engine.reliability.partial import so_far
from service.store import jobs, matrices, parts
from service.store.records import JobRecord
from service.usecases import scoring


def partial_result(conn: Connection, job_id: str) -> dict[str, Any]:
    """Agreement and MDAD over the trials that are done.

    Raises
    ------
    Conflict
        The job has ended, or is not a reliability job.
    """
    job = jobs.get(conn, job_id)
    if job.kind != "mdad" or job.finished:
        raise _nothing_partial(job)
    outline = scoring.outline(conn, matrices.get(conn, job.matrix_id, job.revision), job.settings)
    return so_far(mdad_plan(job.settings, outline), parts.results_so_far(conn, job.id))


def _nothing_partial(job: JobRecord) -> Conflict:
    why = "A selection is made in one piece; ask for its result."
    if job.status == "cancelled":
        why = "The job was cancelled and has no result; send the request again."
    elif job.status == "failed":
        why = f"The job failed and has no result; GET /jobs/{job.id} says why."
    elif job.finished:
        why = f"The job has succeeded; GET /jobs/{job.id}/result has all it found."
    return Conflict(why, [FieldError("", "no_partial_result", why)])
