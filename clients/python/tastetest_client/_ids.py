"""What may be given where the service takes an id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tastetest_client import models
from tastetest_client.results import SelectionDetail, SelectionResult

MatrixLike = str | models.MatrixView | models.MatrixUploaded | models.MatrixRef
JobLike = str | models.JobView
SelectionLike = str | models.SelectionView | SelectionResult | SelectionDetail
SessionLike = str | models.SessionView | models.SessionSummary
Side = str | Mapping[str, Any] | models.Answers


def matrix_id(matrix: MatrixLike) -> str:
    """The id of a matrix."""
    return matrix if isinstance(matrix, str) else matrix.id


def job_id(job: JobLike) -> str:
    """The id of a job."""
    return job if isinstance(job, str) else job.id


def selection_id(selection: SelectionLike) -> str:
    """The id of a selection."""
    return selection if isinstance(selection, str) else selection.selection_id


def session_id(session: SessionLike) -> str:
    """The id of a session."""
    return session if isinstance(session, str) else session.id


def of_either(where: SelectionLike | MatrixLike) -> dict[str, Any]:
    """The fields of a request that name a selection or a matrix."""
    if isinstance(where, models.MatrixView | models.MatrixUploaded | models.MatrixRef):
        return {"matrix_id": where.id, "revision": where.revision}
    return {"selection_id": selection_id(where)}


def side(given: Side, name: str) -> str | dict[str, Any]:
    """A stored model's name, or answers under a name."""
    if isinstance(given, str):
        return given
    if isinstance(given, models.Answers):
        return given.model_dump(exclude_none=True)
    return {"name": name, "answers": dict(given)}
