"""The records that the store returns: frozen, and independent of the database session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from service.engine.data.attempts import ModelAttempts

JobStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]
SessionStatus = Literal["open", "decided", "exhausted", "stopped", "expired"]
CellState = Literal["scored", "errored", "unscored", "not_run", "missing"]
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
class Origin:
    """The ids that the tool that ran a matrix's examples uses for them.

    Attributes
    ----------
    tool : str
        Name of the format the logs are in.
    tasks, ids : tuple of str, length N
        The tool's task and its own id of each example, in the matrix's order.
    hashes : tuple of str or None, length N, optional
        Content hash of each example, None where the log had none.
    """

    tool: str
    tasks: tuple[str, ...]
    ids: tuple[str, ...]
    hashes: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCounts:
    """What a model's log says in addition to its scores.

    Attributes
    ----------
    errored, unscored, not_run : int
        Number of examples without a score, by the reason.
    answers : int
        Number of answers that the scores are means of.
    reported : float, optional
        The mean that the log reports.
    states : ndarray of uint8, shape (N,), optional
        0 scored, 1 errored, 2 unscored, 3 not run; None when all are scored.
    repeats : ndarray of uint16, shape (N,), optional
        Number of answers in each score; None when it is 1 for each.
    attempts : ModelAttempts, optional
        Every attempt; None when no cell has two, or only means are known.
    """

    errored: int
    unscored: int
    not_run: int
    answers: int
    reported: float | None = None
    states: NDArray[np.uint8] | None = None
    repeats: NDArray[np.uint16] | None = None
    attempts: ModelAttempts | None = None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model beside its results."""

    family: str | None = None
    released: date | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One model's row.

    Attributes
    ----------
    accuracy : float, optional
        Mean over its scored examples; None if it has none.
    revision : int
        The revision that added this row.
    errored, unscored, not_run, answers, reported : optional
        As in `AnswerCounts`; None in rows of earlier releases.
    facts : ModelFacts
    """

    model: str
    accuracy: float | None
    scored: int
    missing: int
    revision: int
    errored: int | None = None
    unscored: int | None = None
    not_run: int | None = None
    answers: int | None = None
    reported: float | None = None
    facts: ModelFacts = ModelFacts()


@dataclass(frozen=True, slots=True)
class CellRecord:
    """A model's result on one example.

    Attributes
    ----------
    score : float, optional
        None if missing.
    state : str
        "missing" if the reason is unknown.
    answers : int, optional
        How many answers the score is the mean of; None in rows of earlier releases.
    """

    example: str
    score: float | None
    state: CellState
    answers: int | None


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as callers see it.

    Attributes
    ----------
    progress : float
        Share of the work that is done, including running parts.
    attempt : int
        The highest number of attempts of any part.
    place : int, optional
        Place in the queue; 1 is next.
    seconds_left : float, optional
        Estimate while running, from the speed so far.
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
    """A chosen subset: immutable, with an id that is derived from the request that made it.

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
class ComparisonRecord:
    """An answer of `/compare`: immutable, with an id that is derived from its content; `body` is its JSON."""

    id: str
    matrix_id: str
    selection_id: str | None
    body: bytes
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Answers a batch at a time.

    Attributes
    ----------
    settings : mapping
        The request, every default filled in.
    handed_out : int
        Examples given to callers, from the beginning of the order.
    answered : int
        Those of them with an answer, with or without a score.
    looks : tuple of mapping
        What each look found.
    """

    id: str
    matrix_id: str
    revision: int
    status: SessionStatus
    settings: Mapping[str, Any]
    engine_version: str
    handed_out: int
    answered: int
    looks: tuple[Mapping[str, Any], ...]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, eq=False)
class SessionOrder:
    """In which order a session asks, and what belongs together.

    Attributes
    ----------
    examples : ndarray of int64, shape (budget,)
    sizes : ndarray of float64, shape (N,), optional
    clusters : ndarray of int64, shape (N,), optional
    """

    examples: NDArray[np.int64]
    sizes: NDArray[np.float64] | None
    clusters: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt at one part: the right to write its result until the lease runs out.

    `spec` is the input of the part; None for the assembly of the other parts' results. A part of a later
    `stage` computes from the results of the earlier ones.
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
    asked_by: Mapping[str, str] | None = None
    stage: int = 1


@dataclass(frozen=True, slots=True)
class WebhookRecord:
    """An address that receives a message when a job ends; its secret stays in the store.

    Attributes
    ----------
    failures : int
        Attempts that failed since the last that succeeded.
    paused_at : datetime, optional
        Since when nothing is sent, because of these failures.
    """

    id: str
    url: str
    created_at: datetime
    failures: int
    paused_at: datetime | None


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A message to one address, and its outcome."""

    id: str
    job_id: str
    attempt: int
    delivered_at: datetime | None
    given_up_at: datetime | None
    last_failure: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A message to send now, signed with `secret` and, after a replacement, also with `previous_secret`.

    `now` is the time of the signature, by the database's clock.
    """

    id: str
    webhook_id: str
    url: str
    body: str
    attempt: int
    secret: str
    previous_secret: str | None
    now: datetime
