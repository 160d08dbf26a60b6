"""The life of a job: every step of it one transaction, or one statement.

    job    queued → running → succeeded | failed | cancelled;  running → queued on retry
    part   queued → running → done | failed | cancelled;       running → queued on retry
           of a later stage: waiting → queued, in the transaction that finishes the stage before
    last   waiting → running, in the transaction that finishes the last other part;
           a job of one part has none: that part is computed and assembled in one go

A step of a part is fenced by its attempt: a worker that lost the lease writes nothing.
The schema forbids every transition that is not drawn here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, func

from service.core.errors import Conflict, NotFound
from service.core.settings import Settings
from service.jobs import failures
from service.store import cursors, fair_queue, jobs, parts
from service.store.parts import LockedJob, PartKey
from service.store.records import UNFINISHED, Claim, JobRecord

# Several workers may choose the same part at one moment; one gets it.
_RACES = 20
LOST = "its worker died or stopped answering"


class LeaseLost(Exception):
    """The part is no longer this worker's: its lease ran out, or the job has ended."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How long a lease lasts, and how long a part waits after a failure."""

    lease: timedelta
    rest: timedelta
    longest_rest: timedelta

    @classmethod
    def of(cls, settings: Settings) -> LeaseTerms:
        """The terms in these settings."""
        return cls(
            lease=timedelta(seconds=settings.lease_seconds),
            rest=timedelta(seconds=settings.retry_seconds),
            longest_rest=timedelta(seconds=settings.retry_seconds_max),
        )

    def after(self, failures: int) -> timedelta:
        """Delay after this many failures: it doubles each time, up to a maximum."""
        rest: timedelta = self.rest * 2.0 ** min(failures - 1, 20)
        return min(rest, self.longest_rest)


def claim(
    conn: Connection, job_id: str, index: int, *, worker: str, terms: LeaseTerms
) -> tuple[Claim | None, list[tuple[str, int]]]:
    """Claim a part if it is available; returns also the parts to notify workers of after the commit.

    The API notifies workers of a job's first part only; the worker that claims it notifies them of the
    others. A claim need not survive a crash of the database, because fencing compares the worker too,
    not only the attempt.
    """
    claimed = parts.claim(conn, job_id, index, worker=worker, lease=terms.lease)
    if claimed is None or index > 0 or claimed.parts_total == 1:
        return claimed, []
    return claimed, others(conn, job_id)


@dataclass(frozen=True, slots=True)
class Taken:
    """A claim, the parts to notify workers of after the commit, and whether its workspace has as many
    parts running as are allowed: notifications for others of its parts came to nothing meanwhile.
    """

    claim: Claim
    others: list[tuple[str, int]]
    at_limit: bool


def claim_next(
    conn: Connection, *, begin: bool, most_running: int, worker: str, terms: LeaseTerms
) -> Taken | None:
    """Take the part whose turn it is among all workspaces; see `fair_queue.next_part`."""
    for _ in range(_RACES):
        chosen = fair_queue.next_part(conn, begin=begin, most_running=most_running)
        if chosen is None:
            return None
        claimed, others = claim(conn, chosen.job_id, chosen.index, worker=worker, terms=terms)
        if claimed is not None:
            fair_queue.charge(conn, chosen)
            return Taken(claimed, others, chosen.running + 1 >= most_running)
    return None


def finish_part(conn: Connection, part: Claim, result: bytes, *, terms: LeaseTerms) -> Claim | None:
    """Store a part's result; the claim that follows: of the next stage, or to assemble after the last.

    The worker that takes the first part of a stage notifies others of the rest (`others`).
    """
    job = _hold(conn, part)
    if job.cancel_requested:
        _leave_cancelled(conn, job, part)
        return None
    _leave(conn, part, status="done", result=result, fraction=1.0)
    if parts.count_done(conn, job.id):
        return parts.claim_assembly(conn, job.id, worker=part.worker, lease=terms.lease)
    following = parts.open_next_stage(conn, job.id, part.stage)
    if following is None:
        return None
    return parts.claim(conn, job.id, following, worker=part.worker, lease=terms.lease)


def others(conn: Connection, job_id: str) -> list[tuple[str, int]]:
    """Queued parts of a job of which no worker has been notified; from now on they count as notified."""
    return [(job_id, other) for other in parts.unnotified(conn, job_id)]


def finish_job(
    conn: Connection, part: Claim, result: bytes, keep: Callable[[Connection], str] | None = None
) -> None:
    """Store the job's result, and the selection it leaves (`keep`): the end of its assembly or only part."""
    job = _hold(conn, part)
    if job.cancel_requested:
        _leave_cancelled(conn, job, part)
        return
    _leave(conn, part, status="done", fraction=1.0)
    selection_id = None if keep is None else keep(conn)
    parts.end_job(conn, job, "succeeded", result=result, selection_id=selection_id)


def fail(conn: Connection, part: Claim | PartKey, problem: Mapping[str, Any]) -> None:
    """End the job: this part can never succeed."""
    job = _hold(conn, part)
    if job.cancel_requested:
        _leave_cancelled(conn, job, part)
        return
    _leave(conn, part, status="failed", last_failure=str(problem["detail"]))
    _end_failed(conn, job, problem)


def retry(
    conn: Connection, part: Claim | PartKey, cause: str, terms: LeaseTerms, *, wait: bool = True
) -> None:
    """Count a failure after which another attempt may succeed; the last allowed failure ends the job.

    Without `wait`, a job that is locked counts as no longer ours.
    """
    job = _hold(conn, part, wait=wait)
    before = parts.failures(conn, part)
    if before is None:
        raise LeaseLost
    if job.cancel_requested:
        _leave_cancelled(conn, job, part)
        return
    count = before + 1
    if count >= job.max_attempts:
        _leave(conn, part, status="failed", failures=count, last_failure=cause)
        _end_failed(conn, job, failures.exhausted(count, cause))
        return
    rested = func.now() + terms.after(count)
    _requeue(conn, job, part, failures=count, last_failure=cause, available_at=rested)


def hand_back(conn: Connection, part: Claim) -> None:
    """Return a part to the queue without counting a failure."""
    job = _hold(conn, part)
    if job.cancel_requested:
        _leave_cancelled(conn, job, part)
        return
    _requeue(conn, job, part, available_at=func.now())


def stop_cancelled(conn: Connection, part: Claim) -> None:
    """The worker has stopped because cancellation was asked for."""
    _leave_cancelled(conn, _hold(conn, part), part)


def cancel(conn: Connection, job_id: str) -> JobRecord:
    """Cancel the job: at once if no worker computes it, else when its workers have stopped.

    Raises
    ------
    NotFound
        No such job.
    Conflict
        It has succeeded or failed.
    """
    job = parts.lock_job(conn, cursors.known_id(job_id, "job"))
    if job is None:
        raise NotFound(f"There is no job {job_id!r}.")
    if job.status in ("succeeded", "failed"):
        raise Conflict(f"The job has {job.status}; there is nothing left to cancel.")
    if job.status != "cancelled":
        parts.set_job(conn, job.id, cancel_requested=True)
        parts.cancel_open(conn, job.id, also_running=False)
        _end_if_stopped(conn, job)
    return jobs.get(conn, job.id)


def expire(conn: Connection, job_id: str, *, wait: bool = True) -> None:
    """End a job whose deadline has passed; its workers can no longer write."""
    job = parts.lock_job(conn, job_id, wait=wait)
    if job is None or job.status not in UNFINISHED:
        return
    if job.cancel_requested:
        parts.cancel_open(conn, job.id, also_running=True)
        parts.end_job(conn, job, "cancelled")
    else:
        _end_failed(conn, job, failures.overdue())


def _hold(conn: Connection, part: Claim | PartKey, *, wait: bool = True) -> LockedJob:
    job = parts.lock_job(conn, part.job_id, wait=wait)
    if job is None:
        raise LeaseLost
    return job


def _leave(conn: Connection, part: Claim | PartKey, **values: object) -> None:
    if not parts.end_attempt(conn, part, **values):
        raise LeaseLost


def _leave_cancelled(conn: Connection, job: LockedJob, part: Claim | PartKey) -> None:
    _leave(conn, part, status="cancelled")
    _end_if_stopped(conn, job)


def _end_if_stopped(conn: Connection, job: LockedJob) -> None:
    if not parts.running(conn, job.id):
        parts.end_job(conn, job, "cancelled")


def _end_failed(conn: Connection, job: LockedJob, problem: Mapping[str, Any]) -> None:
    parts.cancel_open(conn, job.id, also_running=True)
    parts.end_job(conn, job, "failed", error=problem)


def _requeue(conn: Connection, job: LockedJob, part: Claim | PartKey, **values: object) -> None:
    _leave(conn, part, status="queued", notified_at=None, **values)
    if not parts.running(conn, job.id):
        parts.set_job(conn, job.id, status="queued")
