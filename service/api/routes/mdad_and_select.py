"""`POST /select` and `POST /mdad`: check the request against the data, then leave it to the workers."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import structlog
from fastapi import APIRouter, BackgroundTasks, Body, Response
from sqlalchemy import Connection

from service.api import responses
from service.api.context import House, HouseDep
from service.api.idempotency import IdempotencyKey, kept, of_body, once
from service.api.route_classes import StrictRoute
from service.core import tracing
from service.core.errors import Fault, InvalidRequest, NotFound, TooCostly
from service.core.settings import Settings
from service.engine.data.outline import Outline
from service.engine.planning.plan import PlanError
from service.engine.selection.example_options import BY_ID
from service.jobs.kinds import KINDS
from service.jobs.submit import submit
from service.schemas.jobs import JobKind, JobView
from service.schemas.problems import refusals
from service.schemas.requests import MdadRequest, SelectRequest
from service.store import matrices
from service.store.idempotency import Kept
from service.store.records import JobRecord, MatrixRecord

log = structlog.get_logger(__name__)
router = APIRouter(tags=["work"], route_class=StrictRoute)

ID = "0198c0de-7a57-7e57-8000-000000000001"
SELECT = {"matrix_id": ID, "method": "random", "size": 50, "seed": 1}
MDAD = {"matrix_id": ID, "methods": ["random", "stratified"], "sizes": [10, 50, 100]}
ACCEPTED = refusals(404, 409, 413, 415)


@router.post("/select", status_code=202, response_model=JobView, responses=ACCEPTED)
def submit_select(
    ask: Annotated[SelectRequest, Body(examples=[SELECT])],
    tasks: BackgroundTasks,
    house: HouseDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Choose a micro-benchmark: the result holds the examples' ids with weights.

    The same request on the same revision finds the same job, and gives the same selection.
    """
    return _accept(house, "select", ask, tasks, idempotency_key)


@router.post("/mdad", status_code=202, response_model=JobView, responses=ACCEPTED)
def submit_mdad(
    ask: Annotated[MdadRequest, Body(examples=[MDAD])],
    tasks: BackgroundTasks,
    house: HouseDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Measure the minimum detectable accuracy difference by method and size, and recommend one.

    The same request on the same revision with the same seed finds the same job, and gives the same bytes.
    """
    _check_limits(ask, house.settings)
    return _accept(house, "mdad", ask, tasks, idempotency_key)


def _accept(
    house: House,
    kind: JobKind,
    ask: SelectRequest | MdadRequest,
    tasks: BackgroundTasks,
    key: str | None,
) -> Response:
    def work(conn: Connection) -> Kept:
        job, created = _submit(conn, house.settings, kind, ask)
        tracing.about(job_id=job.id)
        log.info("submitted", job_id=job.id, kind=kind, created=created)
        if created:
            # After the answer, so after the commit: a broker that hangs must not keep the caller waiting.
            tasks.add_task(house.bell.ring, job.id)
        return kept(202, responses.job_view(job), {"Location": f"/jobs/{job.id}", "Retry-After": "1"})

    return once(house, key, of_body(f"POST /{kind}", ask), work)


def _submit(
    conn: Connection, limits: Settings, kind: JobKind, ask: SelectRequest | MdadRequest
) -> tuple[JobRecord, bool]:
    work = KINDS[kind]
    matrix = _matrix(conn, ask)
    settings = ask.model_dump(exclude={"matrix_id", "revision"}, exclude_none=True)
    try:
        plan = work.plan(settings, _outline(conn, matrix, ask))
    except PlanError as exc:
        raise InvalidRequest(
            f"{exc.field}: {exc.message}", [Fault(exc.field, "does_not_fit", exc.message)]
        ) from None
    _check_cost(work.seconds(plan), limits.max_job_cpu_seconds)
    return submit(
        conn,
        kind=kind,
        settings=plan.settings,
        matrix=matrix,
        parts=work.parts(plan),
        most_unfinished=limits.max_unfinished_jobs,
    )


def _outline(conn: Connection, matrix: MatrixRecord, ask: SelectRequest | MdadRequest) -> Outline:
    outline = Outline(**matrices.outline(conn, matrix.id, matrix.revision))
    if isinstance(ask, SelectRequest) and BY_ID & ask.options.keys():
        return replace(outline, examples=matrices.examples(conn, matrix.id))
    return outline


def _matrix(conn: Connection, ask: SelectRequest | MdadRequest) -> MatrixRecord:
    try:
        return matrices.get(conn, ask.matrix_id, ask.revision)
    except NotFound as exc:
        field = "/matrix_id" if ask.revision is None else "/revision"
        raise NotFound(exc.detail, [Fault(field, "not_found", exc.detail)]) from None


def _check_cost(seconds: float, most: float) -> None:
    if seconds > most:
        message = (
            f"By estimate this computes for {seconds:,.0f} s on one core, and one request may for"
            f" {most:,.0f}; ask for fewer trials, methods or source models."
        )
        raise TooCostly(message, [Fault("", "too_costly", message)])


def _check_limits(ask: MdadRequest, settings: Settings) -> None:
    if ask.trials > settings.max_trials:
        message = f"At most {settings.max_trials:,} trials; beyond some 100 the intervals hardly narrow."
        raise InvalidRequest(f"/trials: {message}", [Fault("/trials", "too_large", message)])
    if ask.sizes is not None and len(ask.sizes) > settings.max_sizes:
        message = f"At most {settings.max_sizes} sizes in one request."
        raise InvalidRequest(f"/sizes: {message}", [Fault("/sizes", "too_many", message)])
