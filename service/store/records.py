"""What the store hands out: frozen rows, with no tie to the database they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

JobStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]
UNFINISHED: tuple[JobStatus, ...] = ("queued", "running")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next_cursor` is None on the last."""

    items: tuple[T, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class MatrixRecord:
    """One revision of a matrix, without its cells."""

    id: str
    name: str
    revision: int
    n_models: int
    n_examples: int
    subtasks: tuple[str, ...]
    binary: bool
    missing_cells: int
    constant_examples: int
    has_confidences: bool
    has_embeddings: bool
    content_hash: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One model's row: `accuracy` over its scored examples, None without any; `revision` it came with."""

    model: str
    accuracy: float | None
    scored: int
    missing: int
    revision: int


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as callers see it.

    Attributes
    ----------
    progress : float
        Share of the work done, parts in work included.
    attempt : int
        The most attempts any part has had.
    place : int, optional
        Place in line while queued; 1 is next.
    seconds_left : float, optional
        Estimate while running, from the pace so far.
    error : mapping, optional
        A problem: type, title, status, detail.
    """

    id: str
    kind: str
    status: JobStatus
    settings: Mapping[str, Any]
    matrix_id: str
    revision: int
    parts_total: int
    parts_done: int
    progress: float
    attempt: int
    place: int | None
    seconds_left: float | None
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: Mapping[str, Any] | None

    @property
    def finished(self) -> bool:
        """Whether the status is final."""
        return self.status not in UNFINISHED


@dataclass(frozen=True, slots=True)
class SelectionRecord:
    """A chosen subset: immutable, its id derived from the request that made it.

    `body` is the result of the select job: settings, matrix, examples with weights, estimator.
    """

    id: str
    matrix_id: str
    revision: int
    method: str
    size: int
    body: Mapping[str, Any]
    content_hash: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt at one part: the right to write its result until the lease runs out.

    `spec` is what the part computes; None for the assembly of the others' results.
    """

    job_id: str
    index: int
    attempt: int
    worker: str
    parts_total: int
    kind: str
    settings: Mapping[str, Any]
    matrix_id: str
    revision: int
    content_hash: str
    request_hash: str
    spec: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class WebhookRecord:
    """An address that is told of the end of jobs; its secret stays in the store."""

    id: str
    url: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A message to one address, and how it fared."""

    id: str
    job_id: str
    attempt: int
    delivered_at: datetime | None
    given_up_at: datetime | None
    last_failure: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A message to send now, signed with `secret` and, while it is being replaced, `previous_secret` too.

    `now` is the time of the signature, by the database's clock.
    """

    id: str
    url: str
    body: str
    attempt: int
    secret: str
    previous_secret: str | None
    now: datetime
