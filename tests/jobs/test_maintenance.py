"""Maintenance beside the reconciler: each task alone, in batches, whatever somebody has locked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text

from service.core.settings import Settings
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.maintenance import run_due_maintenance
from service.jobs.notifier import WorkerNotifier
from service.jobs.reconcile import ReconcileReport, reconcile
from service.jobs.submit import submit
from service.store import jobs, maintenance_state, matrices, retention
from service.store.records import MatrixRecord
from tests.jobs.test_reconcile import notifier as notifier

ALWAYS = Settings(delete_expired_seconds=1e-6, check_seconds=1e-6)


@pytest.fixture(autouse=True)
def matrix(db: Engine) -> MatrixRecord:
    with db.begin() as conn:
        conn.execute(text("TRUNCATE jobs CASCADE"))
        conn.execute(text("UPDATE upkeep SET failures = '{}', swept_at = NULL"))
        made = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
        return matrices.create(conn, made, name="m")


@contextmanager
def locked(db: Engine, statement: str) -> Iterator[None]:
    """Somebody who holds a lock and forgets it."""
    with db.connect() as conn:
        conn.execute(text(statement))
        yield
        conn.rollback()


def failures(db: Engine) -> dict[str, int]:
    with db.connect() as conn:
        return dict(maintenance_state.read(conn).failures)


@pytest.mark.parametrize("table", ["matrix_rows", "selections", "deliveries", "idempotency_keys"])
def test_a_lock_on_what_is_maintained_does_not_stop_the_reconciler(
    db: Engine, notifier: WorkerNotifier, matrix: MatrixRecord, table: str
) -> None:
    with db.begin() as conn:
        submit(conn, kind="errand", settings={}, matrix=matrix, parts=[{}, {}])
    with locked(db, f"LOCK TABLE {table}"):
        assert reconcile(db, notifier, ALWAYS) == ReconcileReport(expired=0, notified=1)


def test_a_lost_part_is_requeued_while_another_jobs_row_is_locked(
    db: Engine, notifier: WorkerNotifier, matrix: MatrixRecord
) -> None:
    terms = lifecycle.LeaseTerms.of(ALWAYS)
    with db.begin() as conn:
        stuck, fine = (
            submit(conn, kind="errand", settings={"n": n}, matrix=matrix, parts=[{}])[0] for n in range(2)
        )
        for job in (stuck, fine):
            assert lifecycle.claim(conn, job.id, 0, worker="w", terms=terms)[0]
        conn.execute(text("UPDATE parts SET lease_until = now() - interval '1 second'"))
    with locked(db, f"SELECT FROM jobs WHERE id = '{stuck.id}' FOR UPDATE"):
        assert reconcile(db, notifier, ALWAYS) == ReconcileReport(expired=2, notified=0)
        with db.connect() as conn:
            assert jobs.get(conn, fine.id).status == "queued"
            assert jobs.get(conn, stuck.id).status == "running"
    reconcile(db, notifier, ALWAYS)
    with db.connect() as conn:
        assert jobs.get(conn, stuck.id).status == "queued"


def test_a_task_that_fails_is_counted_and_keeps_no_other_from_its_work(
    db: Engine, matrix: MatrixRecord
) -> None:
    with db.begin() as conn:
        old(conn, matrix, 3)
    with locked(db, "LOCK TABLE deliveries"):
        run_due_maintenance(db, ALWAYS)
    assert failures(db) == {"retention of deliveries": 1}
    with db.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM jobs")) == 0
    run_due_maintenance(db, ALWAYS)
    assert failures(db) == {"retention of deliveries": 1}


def test_all_that_is_old_goes_in_one_sweep_a_batch_at_a_time(
    db: Engine, matrix: MatrixRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    monkeypatch.setattr("service.jobs.maintenance.BATCH", 10)
    with db.begin() as conn:
        old(conn, matrix, 35)
    run_due_maintenance(db, ALWAYS)
    with db.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM jobs")) == 0
        assert conn.scalar(text("SELECT count(*) FROM parts")) == 0


def test_a_sweep_that_runs_out_of_time_is_due_again_at_once(
    db: Engine, matrix: MatrixRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    monkeypatch.setattr("service.jobs.maintenance.BATCH", 10)
    hourly = Settings(delete_expired_budget_seconds=1e-6)
    with db.begin() as conn:
        old(conn, matrix, 25)
    for left in (15, 5, 0):
        run_due_maintenance(db, hourly)
        with db.connect() as conn:
            assert conn.scalar(text("SELECT count(*) FROM jobs")) == left


def test_a_job_that_is_locked_is_passed_over(db: Engine, matrix: MatrixRecord) -> None:
    with db.begin() as conn:
        old(conn, matrix, 3)
    with locked(db, "SELECT FROM jobs LIMIT 1 FOR UPDATE"):
        run_due_maintenance(db, ALWAYS)
        with db.connect() as conn:
            assert conn.scalar(text("SELECT count(*) FROM jobs")) == 1
    assert failures(db) == {}


def test_reconciling_goes_on_while_maintenance_waits(
    db: Engine, notifier: WorkerNotifier, matrix: MatrixRecord
) -> None:
    with locked(db, "LOCK TABLE matrix_rows"):
        thread = threading.Thread(target=run_due_maintenance, args=(db, ALWAYS))
        thread.start()
        assert reconcile(db, notifier, ALWAYS) is not None
    thread.join()


def test_a_selection_that_goes_takes_its_job_along(db: Engine, matrix: MatrixRecord) -> None:
    """Also where the job is of an earlier release, which named the selection in its result only."""
    named, unnamed = "5f9c7a52-6a0e-5d0b-9d52-00000000000b", "5f9c7a52-6a0e-5d0b-9d52-00000000000c"
    insert = (
        "INSERT INTO selections (id, matrix_id, revision, method, size, body, content_hash, created_at)"
        " VALUES (:id, :matrix, 1, 'random', 1, '{}', '', now() - interval '31 days')"
    )
    with db.begin() as conn:
        for n, chosen in enumerate((named, unnamed)):
            conn.execute(text(insert), {"id": chosen, "matrix": matrix.id})
            job, _ = submit(conn, kind="select", settings={"n": n}, matrix=matrix, parts=[{}])
            part, _ = lifecycle.claim(conn, job.id, 0, worker="w", terms=lifecycle.LeaseTerms.of(ALWAYS))
            assert part is not None
            result = f'{{"selection_id": "{chosen}"}}'.encode()
            lifecycle.finish_job(conn, part, result, lambda _: named)
            if chosen == unnamed:
                conn.execute(text("ALTER TABLE jobs DISABLE TRIGGER guard"))
                forget = text("UPDATE jobs SET selection_id = NULL WHERE id = :id")
                conn.execute(forget, {"id": job.id})
                conn.execute(text("ALTER TABLE jobs ENABLE TRIGGER guard"))
    run_due_maintenance(db, Settings(delete_expired_seconds=1e-6, keep_selections_days=30))
    with db.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM selections")) == 0
        assert conn.scalar(text("SELECT count(*) FROM jobs")) == 0


def old(conn: Connection, matrix: MatrixRecord, count: int) -> None:
    """So many jobs that ended long ago."""
    insert = text("""
        INSERT INTO jobs (id, kind, status, settings, matrix_id, revision, request_hash, parts_total,
            parts_done, max_attempts, cancel_requested, created_at, finished_at)
        SELECT gen_random_uuid(), 'errand', 'cancelled', '{}', :matrix, 1, n::text, 1, 0, 1, true,
            now() - :age, now() - :age FROM generate_series(1, :count) n
    """)
    parts = text("""
        INSERT INTO parts (job_id, index, role, status, spec, attempt, failures, available_at, fraction)
        SELECT id, 0, 'compute', 'queued', '{}', 0, 0, now(), 0 FROM jobs
    """)
    conn.execute(text("ALTER TABLE jobs DISABLE TRIGGER guard"))
    values = {"matrix": matrix.id, "age": timedelta(days=365), "count": count}
    conn.execute(insert, values)
    conn.execute(text("ALTER TABLE jobs ENABLE TRIGGER guard"))
    conn.execute(parts)
