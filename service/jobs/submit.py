"""Submits a job: its row and its parts in one transaction, at most one job for equal requests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from service.core import tracing
from service.core.errors import Conflict, FieldError, TooManyJobs
from service.core.settings import get_settings
from service.jobs import broker
from service.jobs.canonical_json import canonical_json
from service.jobs.kinds import ENGINE_VERSION
from service.store import jobs
from service.store.database import lock
from service.store.records import JobRecord, MatrixRecord
from service.store.workspace_scope import owner

# An equal job can end between the insert and the query; one repetition is enough in practice.
_TRIES = 5


def submit(
    conn: Connection,
    *,
    kind: str,
    settings: Mapping[str, Any],
    matrix: MatrixRecord,
    parts: Sequence[Mapping[str, Any]],
    most_unfinished: int | None = None,
    seconds: float | None = None,
) -> tuple[JobRecord, bool]:
    """Add a job, or find the unfinished or succeeded one of the same request.

    Notify the workers (`service.jobs.notifier`) after the commit if it was created.

    Parameters
    ----------
    most_unfinished : int, optional
        How many jobs of the workspace may be.
    seconds : float, optional
        Estimated computing time of all parts; one second each when left out.

    Returns
    -------
    job : JobRecord
    created : bool

    Raises
    ------
    NotFound
        The matrix was deleted meanwhile.
    TooManyJobs
        The workspace has reached this limit.
    """
    request = request_hash(kind, settings, matrix)
    if most_unfinished is not None:
        # Those who ask at one moment are counted one after another.
        lock(conn, f"tastetest.jobs.{owner(conn)}")
    unfinished = jobs.share_matrix(conn, matrix)
    limits = get_settings()
    for _ in range(_TRIES):
        added = jobs.add(
            conn,
            kind=kind,
            settings=settings,
            matrix=matrix,
            request_hash=request,
            specs=parts,
            max_attempts=limits.max_attempts,
            deadline=timedelta(seconds=limits.job_seconds),
            part_seconds=1.0 if seconds is None else seconds / len(parts),
            asked_by=tracing.trace_headers() | broker.outgoing_request(),
        )
        if added is not None:
            if most_unfinished is not None and unfinished >= most_unfinished:
                raise _too_many(unfinished, most_unfinished)
            return added, True
        equal = jobs.find_equal(conn, request)
        if equal is not None:
            return equal, False
    raise Conflict("Jobs of this request start and end at this moment; send it again.")


def _too_many(unfinished: int, most: int) -> TooManyJobs:
    message = (
        f"{unfinished:,} jobs of this workspace are queued or running, which is the limit of {most:,}; wait "
        "until some have ended, or cancel some."
    )
    return TooManyJobs(message, [FieldError("", "too_many_jobs", message)], [("Retry-After", "30")])


def request_hash(kind: str, settings: Mapping[str, Any], matrix: MatrixRecord) -> str:
    """SHA-256 of everything that determines the result's bytes."""
    asked = {
        "engine": ENGINE_VERSION,
        "kind": kind,
        "settings": settings,
        "matrix": {"id": matrix.id, "revision": matrix.revision, "content_hash": matrix.content_hash},
    }
    return hashlib.sha256(canonical_json(asked)).hexdigest()
