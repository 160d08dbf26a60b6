"""Jobs: list, read, wait, stream events, cancel, get the result."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from service.api import etags, responses
from service.api.context import AppContext, ContextDep
from service.api.parameters import Cursor, Limit, OfMatrix
from service.api.route_classes import StrictRoute
from service.core.errors import Conflict, FieldError
from service.jobs import lifecycle
from service.schemas.jobs import JobKind, JobPage, JobStatus, JobView
from service.schemas.problems import refusals
from service.schemas.results import JobResult
from service.store import jobs
from service.store.records import JobRecord

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=StrictRoute)

MAX_WAIT = 25
JobId = Annotated[str, Path(description="From the answer to `POST /mdad` or `POST /select`.")]


@router.get("", responses=refusals(404))
def list_jobs(
    context: ContextDep,
    status: Annotated[JobStatus | None, Query(description="Only jobs in this status.")] = None,
    kind: Annotated[JobKind | None, Query(description="Only jobs of this kind.")] = None,
    matrix_id: OfMatrix = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> JobPage:
    """All jobs, newest first."""
    with context.engine.begin() as conn:
        return responses.job_page(
            jobs.page(conn, cursor, limit, status=status, kind=kind, matrix_id=matrix_id)
        )


@router.get("/{job_id}", responses=refusals(404))
async def get_job(
    job_id: JobId,
    response: Response,
    context: ContextDep,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT, description="Seconds to wait for the job to end before answering.")
    ] = 0,
) -> JobView:
    """One job; with `wait`, the answer comes as soon as the job has ended."""
    job = await run_in_threadpool(_job, context, job_id)
    if wait and not job.finished:
        job = await _ended(context, job, wait)
    if not job.finished:
        response.headers["Retry-After"] = "1"
    return responses.job_view(job)


def _job(context: AppContext, job_id: str) -> JobRecord:
    with context.engine.connect() as conn:
        return jobs.get(conn, job_id)


async def _ended(context: AppContext, job: JobRecord, seconds: float) -> JobRecord:
    """The job when it has ended or the time is up; uses neither a thread nor a connection while waiting."""
    deadline = time.monotonic() + seconds
    with context.listener.subscribed(job.id) as subscription:
        while True:
            job = await run_in_threadpool(_job, context, job.id)
            left = deadline - time.monotonic()
            if job.finished or left <= 0 or context.listener.closing:
                return job
            await subscription.wait(left)


@router.get(
    "/{job_id}/result",
    response_model=JobResult,
    responses={**etags.NOT_MODIFIED, **refusals(404, 409)},
)
def get_result(job_id: JobId, request: Request, context: ContextDep) -> Response:
    """The result, byte for byte as stored; a problem until the job has succeeded."""
    with context.engine.begin() as conn:
        job = jobs.get(conn, job_id)
        body = jobs.result(conn, job.id) if job.status == "succeeded" else None
    if body is None:
        raise _no_result(job)
    etag = hashlib.sha256(body).hexdigest()
    if etags.is_current(request, etag):
        return etags.not_modified(etag)
    return Response(body, media_type="application/json", headers={"ETag": f'"{etag}"'})


def _no_result(job: JobRecord) -> Conflict:
    if job.finished:
        why = str(job.error["detail"]) if job.error else "Send the request again to start a new job."
        ended = "was cancelled" if job.status == "cancelled" else f"has {job.status}"
        return Conflict(f"The job {ended} and has no result. {why}", [FieldError("", job.status, why)])
    advice = f"Request /jobs/{job.id}?wait={MAX_WAIT} until its status is succeeded."
    return Conflict(
        f"The job is {job.status}: there is no result yet. {advice}", [FieldError("", job.status, advice)]
    )


@router.post("/{job_id}/cancel", status_code=202, responses=refusals(404, 409))
def cancel_job(job_id: JobId, response: Response, context: ContextDep) -> JobView:
    """Ask the job to stop; it becomes `cancelled` when its workers have stopped."""
    with context.engine.begin() as conn:
        job = lifecycle.cancel(conn, job_id)
    response.headers["Location"] = f"/jobs/{job.id}"
    return responses.job_view(job)


async def _existing(job_id: JobId, context: ContextDep) -> JobRecord:
    """Check the job before the stream starts, while a refusal can still be a problem document."""
    return await run_in_threadpool(_job, context, job_id)


@router.get("/{job_id}/events", response_class=EventSourceResponse, responses=refusals(404))
async def job_events(
    job: Annotated[JobRecord, Depends(_existing)],
    context: ContextDep,
    last_event_id: Annotated[str | None, Header(description="Sent by browsers when they reconnect.")] = None,
) -> AsyncIterator[ServerSentEvent]:
    """The job as server-sent events: one `job` event per change, the last one when the job has ended."""
    seen = last_event_id
    with context.listener.subscribed(job.id) as subscription:
        while True:
            job = await run_in_threadpool(_job, context, job.id)
            if (version := _version(job)) != seen:
                yield ServerSentEvent(data=responses.job_view(job), event="job", id=version)
                seen = version
            if job.finished or context.listener.closing:
                return
            await subscription.wait(MAX_WAIT)


def _version(job: JobRecord) -> str:
    """Differs between any two states of a job that look different to a caller."""
    return f"{job.status}.{job.attempt}.{job.parts_done}.{job.progress:.4f}.{int(job.cancel_requested)}"
