"""What a job shows while it runs."""

from __future__ import annotations

from fastapi import APIRouter

from service.api.context import HouseDep
from service.api.route_classes import StrictRoute
from service.api.routes.jobs import JobId
from service.core.errors import Conflict, Fault
from service.engine.data.outline import Outline
from service.engine.planning.plan import mdad_plan
from service.engine.reliability.partial import so_far
from service.schemas.problems import refusals
from service.schemas.results import PartialResult
from service.store import jobs, matrices, parts
from service.store.records import JobRecord

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=StrictRoute)


@router.get("/{job_id}/partial", responses=refusals(404, 409))
def get_partial_result(job_id: JobId, house: HouseDep) -> PartialResult:
    """Agreement and MDAD over the trials that are done, by method and size; without intervals.

    For a look while a `/mdad` job runs. The result replaces it.
    """
    with house.engine.begin() as conn:
        job = jobs.get(conn, job_id)
        if job.kind != "mdad" or job.finished:
            raise _nothing_partial(job)
        outline = Outline(**matrices.outline(conn, job.matrix_id, job.revision))
        blobs = parts.results_so_far(conn, job.id)
    return PartialResult.model_validate(so_far(mdad_plan(job.settings, outline), blobs))


def _nothing_partial(job: JobRecord) -> Conflict:
    why = "A selection is made in one piece; ask for its result."
    if job.status == "cancelled":
        why = "The job was cancelled and has no result; send the request again."
    elif job.status == "failed":
        why = f"The job failed and has no result; GET /jobs/{job.id} says why."
    elif job.finished:
        why = f"The job has succeeded; GET /jobs/{job.id}/result has all it found."
    return Conflict(why, [Fault("", "no_partial_result", why)])
