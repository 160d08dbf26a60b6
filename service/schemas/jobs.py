"""Jobs as the API tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Fraction, ResponseModel

JobKind = Literal["mdad", "select"]
JobStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class Progress(ResponseModel):
    """How far a job is."""

    done: int = Field(description="Parts finished.")
    total: int = Field(description="Parts in all.")
    fraction: Fraction = Field(description="Work done, within parts too.")


class JobLinks(ResponseModel):
    """Where to go from a job."""

    self: str = Field(description="This job.")
    result: str = Field(description="Its result, once it has succeeded.")
    events: str = Field(description="Its progress as server-sent events.")
    cancel: str = Field(description="POST here to cancel it.")
    matrix: str = Field(description="The matrix revision it works on.")


class JobError(ResponseModel):
    """Why a job failed."""

    type: str = Field(description="Stable name of the kind of problem, for programs.")
    title: str = Field(description="The kind of problem in a few words.")
    status: int = Field(description="The HTTP status an answer with this problem would have.")
    detail: str = Field(description="What went wrong in this job, and what to do about it.")


class JobView(ResponseModel):
    """A job: `queued` → `running` → `succeeded`, `failed` or `cancelled`."""

    id: str = Field(description="Id of the job.")
    kind: str = Field(description="Which operation made it: `mdad` or `select`.", examples=["mdad"])
    status: JobStatus = Field(description="Where the job is; the last three are final.")
    progress: Progress = Field(description="How far it is.")
    attempt: int = Field(description="How often a worker took it up; more than 1 when one was lost.")
    place: int | None = Field(
        description="Place among the queued jobs of its workspace; workspaces take turns."
    )
    seconds_left: float | None = Field(
        description="Estimate while running, from the pace so far; null before the first sign of progress."
    )
    cancel_requested: bool = Field(
        description="Whether cancelling was asked for; a running part stops within seconds."
    )
    matrix_id: str = Field(description="The matrix it works on.")
    revision: int = Field(
        description="The revision of the matrix it works on; later changes of the matrix do not affect it."
    )
    settings: dict[str, Any] = Field(description="The request with every default filled in.")
    created_at: datetime = Field(description="When it was submitted.")
    started_at: datetime | None = Field(description="When a worker first took a part of it; null before.")
    finished_at: datetime | None = Field(
        description="When it succeeded, failed or was cancelled; null before."
    )
    error: JobError | None = Field(description="Why it failed; null unless it did.")
    links: JobLinks = Field(description="Addresses of what belongs to it.")


class JobPage(ResponseModel):
    """A page of jobs, newest first."""

    items: list[JobView] = Field(description="The jobs of this page.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null on the last."
    )
