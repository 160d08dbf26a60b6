"""Check a request for work against the data it is about, and queue it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidRequest, NotFound, TooCostly
from service.engine.data.outline import Outline
from service.engine.data.scored_matrix import Scoring
from service.engine.planning.plan import PlanError
from service.engine.selection.example_options import BY_ID
from service.jobs.kinds import KINDS
from service.jobs.submit import submit
from service.store import matrices
from service.store.records import JobRecord, MatrixRecord
from service.usecases import attempts_variance, scoring
from service.usecases.attempts_variance import AttemptsBudget

# For work whose plan does not estimate it: a selection on 1,000 models × 20,000 examples takes some 20 s.
_SECONDS_A_CELL = 1e-6


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Work asked for.

    Attributes
    ----------
    kind : str
        "select" or "mdad".
    matrix_id, revision
        The data; the newest revision for None.
    settings : mapping
        The request's other fields, as the plan of this kind takes them.
    """

    kind: str
    matrix_id: str
    revision: int | None
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What one request and one workspace may ask for."""

    cpu_seconds: float
    unfinished_jobs: int
    trials: int
    sizes: int


def submit_job(conn: Connection, request: JobRequest, limits: JobLimits) -> tuple[JobRecord, bool]:
    """Queue the work; notify the workers after the commit when it is new.

    Returns
    -------
    JobRecord
        The job: an equal one that is there already, or a new one.
    bool
        Whether it is new.

    Raises
    ------
    InvalidRequest, NotFound, TooCostly
        The request does not fit the data, or asks for too much.
    """
    _check_limits(request.settings, limits)
    work = KINDS[request.kind]
    matrix = _matrix(conn, request)
    try:
        plan = work.plan(_settings(conn, matrix, request.settings), _outline(conn, matrix, request))
    except PlanError as exc:
        raise InvalidRequest(
            f"{exc.field}: {exc.message}", [FieldError(exc.field, "does_not_fit", exc.message)]
        ) from None
    seconds = work.seconds(plan)
    _check_cost(seconds, limits.cpu_seconds)
    return submit(
        conn,
        kind=request.kind,
        settings=plan.settings,
        matrix=matrix,
        parts=work.parts(plan),
        most_unfinished=limits.unfinished_jobs,
        seconds=seconds or _SECONDS_A_CELL * matrix.n_models * matrix.n_examples,
    )


def _settings(conn: Connection, matrix: MatrixRecord, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request's settings, with the variances that a budget of runs is spent by."""
    if settings.get("budget") is None:
        return settings
    budget = AttemptsBudget(**settings["budget"])
    found = attempts_variance.of_matrix(conn, matrix, budget, Scoring.of(settings))
    variances = {"between_variance": found.between, "within_variance": found.within}
    return {**settings, "budget": {"runs": budget.runs, **variances}}


def _outline(conn: Connection, matrix: MatrixRecord, request: JobRequest) -> Outline:
    outline = scoring.outline(conn, matrix, request.settings)
    if BY_ID & request.settings.get("options", {}).keys():
        return replace(outline, examples=matrices.examples(conn, matrix.id))
    return outline


def _matrix(conn: Connection, request: JobRequest) -> MatrixRecord:
    try:
        return matrices.get(conn, request.matrix_id, request.revision)
    except NotFound as exc:
        field = "/matrix_id" if request.revision is None else "/revision"
        raise NotFound(exc.detail, [FieldError(field, "not_found", exc.detail)]) from None


def _check_cost(seconds: float, most: float) -> None:
    if seconds > most:
        message = (
            f"By estimate this computes for {seconds:,.0f} s on one core, and one request may for"
            f" {most:,.0f}; ask for fewer trials, methods or source models."
        )
        raise TooCostly(message, [FieldError("", "too_costly", message)])


def _check_limits(settings: Mapping[str, Any], limits: JobLimits) -> None:
    if settings.get("trials", 0) > limits.trials:
        message = f"At most {limits.trials:,} trials; beyond some 100 the intervals hardly narrow."
        raise InvalidRequest(f"/trials: {message}", [FieldError("/trials", "too_large", message)])
    sizes = settings.get("sizes")
    if isinstance(sizes, list) and len(sizes) > limits.sizes:
        message = f"At most {limits.sizes} sizes in one request."
        raise InvalidRequest(f"/sizes: {message}", [FieldError("/sizes", "too_many", message)])
