from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, text

from service.cli import default_stack
from service.core.settings import Settings
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.notifier import WorkerNotifier
from service.jobs.reconcile import ReconcileReport, reconcile
from service.jobs.submit import submit
from service.store import jobs, matrices
from service.store.database import try_lock
from service.store.records import JobRecord

SETTINGS = Settings(requeue_seconds=5, retry_seconds=1)
TERMS = lifecycle.LeaseTerms.of(SETTINGS)


@pytest.fixture
def notifier(tmp_path: Path) -> Iterator[WorkerNotifier]:
    """A bell on a broker of the test's own, which nobody answers."""
    with default_stack.valkey(tmp_path) as url:
        yield WorkerNotifier(url)


@pytest.fixture
def job(db: Engine) -> JobRecord:
    """A job of two parts, alone in the database."""
    with db.begin() as conn:
        conn.execute(text("TRUNCATE jobs CASCADE"))
        matrix = matrices.create(
            conn, Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]])), name="m"
        )
        return submit(conn, kind="errand", settings={}, matrix=matrix, parts=[{}, {}])[0]


def later(db: Engine, seconds: float) -> None:
    """Let time pass for the parts: everything they remember lies further back."""
    with db.begin() as conn:
        conn.execute(
            text(
                "UPDATE parts SET lease_until = lease_until - :by, rung_at = rung_at - :by,"
                " available_at = available_at - :by WHERE status IN ('queued', 'running')"
            ),
            {"by": timedelta(seconds=seconds)},
        )


def claim(db: Engine, job: JobRecord, index: int) -> None:
    with db.begin() as conn:
        assert lifecycle.claim(conn, job.id, index, worker="w", terms=TERMS)[0] is not None


def test_what_was_rung_is_given_time(db: Engine, notifier: WorkerNotifier, job: JobRecord) -> None:
    # Whoever submits rings for the first part; for the second nobody has.
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=1)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=0)
    assert notifier.waiting() == 1


def test_what_was_heard_by_nobody_is_rung_again(db: Engine, notifier: WorkerNotifier, job: JobRecord) -> None:
    later(db, SETTINGS.requeue_seconds + 1)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=2)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=0)


def test_no_more_are_rung_again_than_were_lost(db: Engine, notifier: WorkerNotifier, job: JobRecord) -> None:
    notifier.notify_all([(job.id, 0), (job.id, 1)])
    with db.begin() as conn:
        conn.execute(text("UPDATE parts SET rung_at = now() WHERE status = 'queued'"))
    later(db, SETTINGS.requeue_seconds + 1)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=0), "both still wait"
    claim(db, job, 0)
    notifier.notify(job.id, 1)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=0)


def test_a_lost_part_goes_back_and_is_rung_when_it_has_rested(
    db: Engine, notifier: WorkerNotifier, job: JobRecord
) -> None:
    claim(db, job, 0)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=0)
    later(db, SETTINGS.lease_seconds + 0.1)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=1, notified=1)
    assert notifier.waiting() == 1
    with db.connect() as conn:
        assert jobs.get(conn, job.id).status == "queued"
    later(db, SETTINGS.retry_seconds)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=1)
    claim(db, job, 0)


def test_the_exhausted_fail_and_say_why(db: Engine, notifier: WorkerNotifier, job: JobRecord) -> None:
    for _ in range(SETTINGS.max_attempts):
        later(db, 3600)
        claim(db, job, 0)
        later(db, 3600)
        reconcile(db, notifier, SETTINGS)
    with db.connect() as conn:
        done = jobs.get(conn, job.id)
    assert done.status == "failed"
    assert done.error is not None
    assert lifecycle.LOST in done.error["detail"]
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=0, notified=0)


def test_a_lost_part_of_a_cancelled_job_ends_it(db: Engine, notifier: WorkerNotifier, job: JobRecord) -> None:
    claim(db, job, 0)
    with db.begin() as conn:
        lifecycle.cancel(conn, job.id)
    later(db, 3600)
    assert reconcile(db, notifier, SETTINGS) == ReconcileReport(expired=1, notified=0)
    with db.connect() as conn:
        assert jobs.get(conn, job.id).status == "cancelled"


def test_only_one_reconciles_at_a_time(db: Engine, notifier: WorkerNotifier, job: JobRecord) -> None:
    with db.begin() as conn:
        assert try_lock(conn, "tastetest.reconcile")
        assert reconcile(db, notifier, SETTINGS) is None
    assert reconcile(db, notifier, SETTINGS) is not None


def test_a_job_past_its_deadline_fails_and_says_so(
    db: Engine, notifier: WorkerNotifier, job: JobRecord
) -> None:
    claim(db, job, 0)
    with db.begin() as conn:
        conn.execute(text("UPDATE jobs SET deadline_at = now() - interval '1 second'"))
    reconcile(db, notifier, SETTINGS)
    with db.connect() as conn:
        done = jobs.get(conn, job.id)
        assert (done.status, done.error and done.error["type"]) == ("failed", "deadline-exceeded")
        open_ = "SELECT count(*) FROM parts WHERE status IN ('waiting', 'queued', 'running')"
        assert conn.scalar(text(open_)) == 0


def test_a_cancelled_job_past_its_deadline_is_cancelled(
    db: Engine, notifier: WorkerNotifier, job: JobRecord
) -> None:
    claim(db, job, 0)
    with db.begin() as conn:
        lifecycle.cancel(conn, job.id)
        conn.execute(text("UPDATE jobs SET deadline_at = now() - interval '1 second'"))
    reconcile(db, notifier, SETTINGS)
    with db.connect() as conn:
        assert jobs.get(conn, job.id).status == "cancelled"
