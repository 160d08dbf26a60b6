"""Results of a running job so far."""

from __future__ import annotations

from fastapi import APIRouter

from service.api.context import ContextDep
from service.api.route_classes import StrictRoute
from service.api.routes.jobs import JobId
from service.schemas.problems import refusals
from service.schemas.results import PartialResult
from service.usecases.partial_result import partial_result

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=StrictRoute)


@router.get("/{job_id}/partial", responses=refusals(404, 409))
def get_partial_result(job_id: JobId, context: ContextDep) -> PartialResult:
    """Agreement and MDAD over the finished trials, by method and size, without intervals.

    This is a preview while a `/mdad` job runs; the job's result replaces it.
    """
    with context.engine.begin() as conn:
        return PartialResult.model_validate(partial_result(conn, job_id))
