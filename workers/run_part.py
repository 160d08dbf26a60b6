"""Runs one part of a job: claim, compute, store; the last part's worker also assembles the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import structlog
from opentelemetry.trace import SpanKind
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from service.core import tracing
from service.core.settings import Settings
from service.engine.data.errors import EngineError, Stopped
from service.jobs import broker, failures, kinds, lifecycle
from service.jobs.notifier import WorkerNotifier
from service.store import parts
from service.store.records import Claim
from workers.lease_renewer import LeaseRenewer, Reason
from workers.matrix_cache import MatrixCache
from workers.retry import with_retries

log = structlog.get_logger(__name__)

T = TypeVar("T")
Step = Callable[[Connection], T]


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What one worker process works with; `quick` is the engine for claims and lease renewals."""

    engine: Engine
    quick: Engine
    notifier: WorkerNotifier
    settings: Settings
    worker: str
    shutting_down: Callable[[], bool]
    matrices: MatrixCache = field(default_factory=MatrixCache)

    @property
    def terms(self) -> lifecycle.LeaseTerms:
        """Lease time and retry delays."""
        return lifecycle.LeaseTerms.of(self.settings)


def work_next(context: WorkerContext, *, begin: bool) -> None:
    """Answer a notification: take the part whose turn it is, whatever the notification was about."""
    taken = with_retries(
        context.quick,
        lambda conn: lifecycle.claim_next(
            conn,
            begin=begin,
            most_running=context.settings.max_running_parts,
            worker=context.worker,
            terms=context.terms,
        ),
    )
    if taken is None:
        return
    context.notifier.notify_all(taken.others)
    _work(context, taken.claim)
    if taken.at_limit:
        context.notifier.notify(taken.claim.job_id, taken.claim.index)


def work(context: WorkerContext, job_id: str, index: int) -> None:
    """Take this very part; nothing to do when it is taken, resting or over."""
    part, others = with_retries(
        context.quick,
        lambda conn: lifecycle.claim(conn, job_id, index, worker=context.worker, terms=context.terms),
    )
    context.notifier.notify_all(others)
    _work(context, part)


def _work(context: WorkerContext, part: Claim | None) -> None:
    while part is not None:
        log_fields: dict[str, str | int] = {
            "job_id": part.job_id,
            "part": part.index,
            "attempt": part.attempt,
        }
        name = f"{part.kind} {'assemble' if part.spec is None else 'part'}"
        with (
            # Notifications from the reconciler do not carry the submitting request's headers.
            broker.asked_by(part.asked_by or {}),
            structlog.contextvars.bound_contextvars(**log_fields),
            tracing.span(name, SpanKind.CONSUMER, **log_fields),
        ):
            started = time.monotonic()
            part = _attempt(context, part)
            if part is not None and part.spec is not None:
                context.notifier.notify_all(_others(context, part.job_id))
            log.info("part", seconds=round(time.monotonic() - started, 3))


def _others(context: WorkerContext, job_id: str) -> list[tuple[str, int]]:
    """The other parts of a stage that has just begun."""
    return with_retries(context.quick, lambda conn: lifecycle.others(conn, job_id))


def _attempt(context: WorkerContext, part: Claim) -> Claim | None:
    """One attempt at one part; returns the claim to assemble if this was the last part."""
    renewer = LeaseRenewer(
        context.quick,
        part,
        context.settings,
        context.shutting_down,
        lambda reason: _give_up(context, part, reason),
    )
    with renewer:
        try:
            step = _compute(context, part, renewer)
        except Stopped:
            step = _stopped(part, renewer.reason)
        except Exception as error:
            step = _failed(context, part, error)
        renewer.computing = False
        return _store(context, step)


def _compute(context: WorkerContext, part: Claim, renewer: LeaseRenewer) -> Step[Claim | None]:
    held = context.matrices.load(context.engine, part)
    matrix, of = held.matrix, held.denominators
    if part.spec is None:
        pieces = with_retries(context.engine, lambda conn: parts.results(conn, part.job_id))
        return _finish_job(part, *kinds.assemble(matrix, part, pieces, renewer.check, of))
    earlier: list[kinds.Piece] = []
    if part.stage > 1:
        earlier = with_retries(
            context.engine, lambda conn: parts.results(conn, part.job_id, before=part.stage)
        )
    piece = kinds.run(matrix, part, earlier, renewer.check)
    if part.parts_total == 1:
        return _finish_job(part, *kinds.assemble(matrix, part, [(part.spec, piece)], renewer.check, of))
    return lambda conn: lifecycle.finish_part(conn, part, piece, terms=context.terms)


def _finish_job(part: Claim, body: bytes, keep: kinds.Keep | None) -> Step[None]:
    return lambda conn: lifecycle.finish_job(conn, part, body, keep)


def _give_up(context: WorkerContext, part: Claim, reason: Reason) -> None:
    """Hand in a part whose computation does not stop, just before its process ends."""
    try:
        with context.engine.begin() as conn:
            _stopped(part, reason)(conn)
    except (DBAPIError, lifecycle.LeaseLost) as error:
        # Then its lease runs out.
        log.warning("part not handed in", error=repr(error))


def _stopped(part: Claim, reason: Reason | None) -> Step[None]:
    log.info("part stopped", reason=reason)
    if reason == "cancelled":
        return lambda conn: lifecycle.stop_cancelled(conn, part)
    if reason == "overdue":
        return lambda conn: lifecycle.expire(conn, part.job_id)
    if reason == "leaving":
        return lambda conn: lifecycle.hand_back(conn, part)
    return _nothing


def _nothing(conn: Connection) -> None:
    """Store nothing: another worker owns the part now."""


def _failed(context: WorkerContext, part: Claim, error: Exception) -> Step[None]:
    tracing.mark_failed(error)
    if isinstance(error, DBAPIError | OSError | MemoryError):
        cause = _cause(context, error)
        log.warning("part will be retried", error=repr(error))
        return lambda conn: lifecycle.retry(conn, part, cause, context.terms)
    if isinstance(error, EngineError):
        log.info("data do not suit the request", error=str(error))
        return lambda conn: lifecycle.fail(conn, part, failures.unsuitable(error))
    log.error("part failed", exc_info=error)
    return lambda conn: lifecycle.fail(conn, part, failures.internal(error))


def _cause(context: WorkerContext, error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"it needed more than the {context.settings.worker_memory_mib} MiB a worker may use"
    return f"it ended with {type(error).__name__}"


def _store(context: WorkerContext, step: Step[T]) -> T | None:
    """Run the final transaction of an attempt; retry it while the database restarts."""
    try:
        return with_retries(context.engine, step)
    except lifecycle.LeaseLost:
        log.info("lease was lost")
        return None
