"""`POST /select` and `POST /mdad`: check the request against the data, then leave it to the workers."""

from __future__ import annotations

from typing import Annotated

import structlog
from fastapi import APIRouter, BackgroundTasks, Body, Response

from service.api import responses
from service.api.context import AppContext, ContextDep
from service.api.idempotency import IdempotencyKey, hash_of_body, run_once, stored_answer
from service.api.route_classes import StrictRoute
from service.core import tracing
from service.core.settings import Settings
from service.schemas.jobs import JobKind, JobView
from service.schemas.problems import refusals
from service.schemas.requests import MdadRequest, SelectRequest
from service.store.database import Transaction
from service.store.idempotency import StoredAnswer
from service.usecases.submit_job import JobLimits, JobRequest, submit_job

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
    context: ContextDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Choose a micro-benchmark: the result holds the examples' ids with weights.

    The same request on the same revision finds the same job, and gives the same selection.
    """
    return _accept(context, "select", ask, tasks, idempotency_key)


@router.post("/mdad", status_code=202, response_model=JobView, responses=ACCEPTED)
def submit_mdad(
    ask: Annotated[MdadRequest, Body(examples=[MDAD])],
    tasks: BackgroundTasks,
    context: ContextDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Measure the minimum detectable accuracy difference by method and size, and recommend one.

    The same request on the same revision with the same seed finds the same job, and gives the same bytes.
    """
    return _accept(context, "mdad", ask, tasks, idempotency_key)


def _accept(
    context: AppContext,
    kind: JobKind,
    ask: SelectRequest | MdadRequest,
    tasks: BackgroundTasks,
    key: str | None,
) -> Response:
    settings = ask.model_dump(exclude={"matrix_id", "revision"}, exclude_none=True)
    request = JobRequest(kind, ask.matrix_id, ask.revision, settings)

    def work(conn: Transaction) -> StoredAnswer:
        job, created = submit_job(conn, request, _limits(context.settings))
        tracing.set_attributes(job_id=job.id)
        log.info("submitted", job_id=job.id, kind=kind, created=created)
        if created:
            # After the answer, so after the commit: a broker that hangs must not keep the caller waiting.
            tasks.add_task(context.notifier.notify, job.id)
        return stored_answer(
            202, responses.job_view(job), {"Location": f"/jobs/{job.id}", "Retry-After": "1"}
        )

    return run_once(context, key, hash_of_body(f"POST /{kind}", ask), work)


def _limits(settings: Settings) -> JobLimits:
    return JobLimits(
        cpu_seconds=settings.max_job_cpu_seconds,
        unfinished_jobs=settings.max_unfinished_jobs,
        trials=settings.max_trials,
        sizes=settings.max_sizes,
    )
