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

    self: str
    result: str
    events: str
    cancel: str
    matrix: str


class JobError(ResponseModel):
    """Why a job failed."""

    type: str
    title: str
    status: int
    detail: str


class JobView(ResponseModel):
    """A job: `queued` → `running` → `succeeded`, `failed` or `cancelled`."""

    id: str
    kind: str = Field(examples=["mdad"])
    status: JobStatus
    progress: Progress
    attempt: int = Field(description="How often a worker took it up; more than 1 when one was lost.")
    place: int | None = Field(description="Place in line while queued; 1 is next.")
    seconds_left: float | None = Field(
        description="Estimate while running, from the pace so far; null before the first sign of progress."
    )
    cancel_requested: bool
    matrix_id: str
    revision: int
    settings: dict[str, Any] = Field(description="The request with every default filled in.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: JobError | None
    links: JobLinks


class JobPage(ResponseModel):
    """A page of jobs, newest first."""

    items: list[JobView]
    next_cursor: str | None
