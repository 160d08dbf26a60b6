"""From a ring to a result: claim, compute, hand in, and assemble when it was the last part."""

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
    """What one worker process works with; `quick` is for claims and beats."""

    engine: Engine
    quick: Engine
    notifier: WorkerNotifier
    settings: Settings
    worker: str
    leaving: Callable[[], bool]
    matrices: MatrixCache = field(default_factory=MatrixCache)

    @property
    def terms(self) -> lifecycle.LeaseTerms:
        """Lease and rests."""
        return lifecycle.LeaseTerms.of(self.settings)


def work_next(desk: WorkerContext, *, begin: bool) -> None:
    """Answer a notification: take the part whose turn it is, whatever the notification was about."""
    taken = with_retries(
        desk.quick,
        lambda conn: lifecycle.claim_next(
            conn,
            begin=begin,
            most_running=desk.settings.max_running_parts,
            worker=desk.worker,
            terms=desk.terms,
        ),
    )
    if taken is None:
        return
    desk.notifier.notify_all(taken.others)
    _work(desk, taken.claim)
    if taken.at_limit:
        desk.notifier.notify(taken.claim.job_id, taken.claim.index)


def work(desk: WorkerContext, job_id: str, index: int) -> None:
    """Take this very part; nothing to do when it is taken, resting or over."""
    part, others = with_retries(
        desk.quick, lambda conn: lifecycle.claim(conn, job_id, index, worker=desk.worker, terms=desk.terms)
    )
    desk.notifier.notify_all(others)
    _work(desk, part)


def _work(desk: WorkerContext, part: Claim | None) -> None:
    while part is not None:
        told: dict[str, str | int] = {"job_id": part.job_id, "part": part.index, "attempt": part.attempt}
        name = f"{part.kind} {'assemble' if part.spec is None else 'part'}"
        with (
            # For the ring of a reconciler, who does not know.
            broker.asked_by(part.asked_by or {}),
            structlog.contextvars.bound_contextvars(**told),
            tracing.span(name, SpanKind.CONSUMER, **told),
        ):
            began = time.monotonic()
            part = _attempt(desk, part)
            if part is not None and part.spec is not None:
                desk.notifier.notify_all(_others(desk, part.job_id))
            log.info("part", seconds=round(time.monotonic() - began, 3))


def _others(desk: WorkerContext, job_id: str) -> list[tuple[str, int]]:
    """The other parts of a stage that has just begun."""
    return with_retries(desk.quick, lambda conn: lifecycle.others(conn, job_id))


def _attempt(desk: WorkerContext, part: Claim) -> Claim | None:
    """One attempt at one part; the claim that follows from it, if any."""
    beat = LeaseRenewer(
        desk.quick, part, desk.settings, desk.leaving, lambda reason: _give_up(desk, part, reason)
    )
    with beat:
        try:
            step = _compute(desk, part, beat)
        except Stopped:
            step = _stopped(part, beat.reason)
        except Exception as error:
            step = _failed(desk, part, error)
        beat.computing = False
        return _hand_in(desk, step)


def _compute(desk: WorkerContext, part: Claim, beat: LeaseRenewer) -> Step[Claim | None]:
    matrix = desk.matrices.load(desk.engine, part)
    if part.spec is None:
        pieces = with_retries(desk.engine, lambda conn: parts.results(conn, part.job_id))
        return _finish_job(part, *kinds.assemble(matrix, part, pieces, beat.check))
    earlier: list[kinds.Piece] = []
    if part.stage > 1:
        earlier = with_retries(desk.engine, lambda conn: parts.results(conn, part.job_id, before=part.stage))
    piece = kinds.run(matrix, part, earlier, beat.check)
    if part.parts_total == 1:
        return _finish_job(part, *kinds.assemble(matrix, part, [(part.spec, piece)], beat.check))
    return lambda conn: lifecycle.finish_part(conn, part, piece, terms=desk.terms)


def _finish_job(part: Claim, body: bytes, keep: kinds.Keep | None) -> Step[None]:
    return lambda conn: lifecycle.finish_job(conn, part, body, keep)


def _give_up(desk: WorkerContext, part: Claim, reason: Reason) -> None:
    """Hand in a part whose computation does not stop, just before its process ends."""
    try:
        with desk.engine.begin() as conn:
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
    """The part is another's now: there is nothing to hand in."""


def _failed(desk: WorkerContext, part: Claim, error: Exception) -> Step[None]:
    tracing.failed(error)
    if isinstance(error, DBAPIError | OSError | MemoryError):
        cause = _cause(desk, error)
        log.warning("part will be retried", error=repr(error))
        return lambda conn: lifecycle.retry(conn, part, cause, desk.terms)
    if isinstance(error, EngineError):
        log.info("part has no answer", error=str(error))
        return lambda conn: lifecycle.fail(conn, part, failures.unsuitable(error))
    log.error("part failed", exc_info=error)
    return lambda conn: lifecycle.fail(conn, part, failures.internal(error))


def _cause(desk: WorkerContext, error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"it needed more than the {desk.settings.worker_memory_mib} MiB a worker may use"
    return f"it ended with {type(error).__name__}"


def _hand_in(desk: WorkerContext, step: Step[T]) -> T | None:
    """Run the closing transaction, through a restart of the database if need be."""
    try:
        return with_retries(desk.engine, step)
    except lifecycle.LeaseLost:
        log.info("part was no longer ours")
        return None
