"""What the report of a job is made from."""

from __future__ import annotations

from dataclasses import dataclass

import orjson
from sqlalchemy import Connection

from service.core.errors import NotFound
from service.store import jobs, matrices, selections
from service.store.records import JobRecord, MatrixRecord, SelectionRecord

MOST_MODELS = 1_000_000


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job and what it found.

    Attributes
    ----------
    matrix : MatrixRecord
        At the job's revision.
    result : bytes or None
        As stored; None until the job has succeeded.
    scores : dict
        Model → its mean score at that revision.
    selection : SelectionRecord or None
        What a selection job chose; it may be deleted earlier than its job.
    """

    job: JobRecord
    matrix: MatrixRecord
    result: bytes | None
    scores: dict[str, float | None]
    selection: SelectionRecord | None = None


def job_report(conn: Connection, job_id: str) -> JobReport:
    """Read it.

    Raises
    ------
    NotFound
        There is no such job.
    """
    job = jobs.get(conn, job_id)
    matrix = matrices.get(conn, job.matrix_id, job.revision)
    if job.status != "succeeded":
        return JobReport(job, matrix, None, {})
    models = matrices.models(conn, matrix.id, matrix.revision, None, MOST_MODELS).items
    result = jobs.result(conn, job.id)
    selection = _selection(conn, result) if job.kind == "select" else None
    return JobReport(job, matrix, result, {model.model: model.accuracy for model in models}, selection)


def finished_report(conn: Connection, job_id: str) -> JobReport:
    """The same of a job that has a result.

    Raises
    ------
    Conflict
        The job has none, or not yet.
    """
    found = job_report(conn, job_id)
    if found.result is None:
        jobs.result(conn, job_id)
    return found


def _selection(conn: Connection, result: bytes) -> SelectionRecord | None:
    try:
        return selections.get(conn, orjson.loads(result)["selection_id"])
    except NotFound:
        return None
