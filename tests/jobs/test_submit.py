from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, text

from service.core.errors import Conflict, NotFound
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.store import jobs, matrices
from service.store.records import JobRecord, MatrixRecord


@pytest.fixture
def matrix(db: Engine) -> MatrixRecord:
    return store(db)


def store(db: Engine) -> MatrixRecord:
    made = Matrix.build(["a", "b"], ["x", "y", "z"], np.array([[1, 0, 1], [0, 0, 1]]))
    with db.begin() as conn:
        return matrices.create(conn, made, name="small")


def ask(db: Engine, matrix: MatrixRecord, n: int = 3, **settings: Any) -> tuple[JobRecord, bool]:
    with db.begin() as conn:
        return submit(
            conn, kind="errand", settings=settings, matrix=matrix, parts=[{"n": i} for i in range(n)]
        )


def test_a_job_and_its_parts_are_one(db: Engine, matrix: MatrixRecord) -> None:
    job, created = ask(db, matrix, seed=1)
    assert created
    assert (job.status, job.parts_total, job.parts_done, job.progress, job.attempt) == (
        "queued",
        3,
        0,
        0.0,
        0,
    )
    assert (job.settings, job.matrix_id, job.revision) == ({"seed": 1}, matrix.id, 1)
    assert (job.started_at, job.finished_at, job.error, job.finished) == (None, None, None, False)
    query = text(
        "SELECT role, status, spec, rung_at IS NOT NULL FROM parts WHERE job_id = :id ORDER BY index"
    )
    with db.connect() as conn:
        assert conn.execute(query, {"id": job.id}).all() == [
            ("compute", "queued", {"n": 0}, True),
            ("compute", "queued", {"n": 1}, False),
            ("compute", "queued", {"n": 2}, False),
            ("assemble", "waiting", {}, False),
        ]


def test_an_equal_request_finds_the_job(db: Engine, matrix: MatrixRecord) -> None:
    job, _ = ask(db, matrix, seed=2, size=5)
    assert ask(db, matrix, size=5, seed=2) == (job, False)
    assert ask(db, matrix, size=5, seed=3)[1]
    assert ask(db, store(db), size=5, seed=2)[1]


def test_another_revision_is_another_request(db: Engine, matrix: MatrixRecord) -> None:
    job, _ = ask(db, matrix, seed=4)
    with db.begin() as conn:
        row = Matrix.build(["c"], ["x", "y", "z"], np.array([[1, 1, 1]]))
        newer, _ = matrices.put_model(conn, matrix.id, row)
    again, created = ask(db, newer, seed=4)
    assert created
    assert (again.revision, job.revision) == (2, 1)


def test_another_release_of_the_engine_is_another_request(
    db: Engine, matrix: MatrixRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case E20: a cached answer is that of these data, these settings and this code."""
    ask(db, matrix, seed=5)
    monkeypatch.setattr("service.jobs.submit.ENGINE_VERSION", "another")
    assert ask(db, matrix, seed=5)[1]


def test_a_cancelled_request_can_be_asked_again(db: Engine, matrix: MatrixRecord) -> None:
    job, _ = ask(db, matrix, seed=5)
    with db.begin() as conn:
        lifecycle.cancel(conn, job.id)
    again, created = ask(db, matrix, seed=5)
    assert created
    assert again.id != job.id


def test_twenty_equal_requests_at_once_are_one_job(db: Engine, matrix: MatrixRecord) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: ask(db, matrix, seed=6), range(20)))
    assert len({job.id for job, _ in answers}) == 1
    assert sum(created for _, created in answers) == 1


def test_a_matrix_in_use_is_not_deleted(db: Engine, matrix: MatrixRecord) -> None:
    job, _ = ask(db, matrix, seed=7)
    with db.begin() as conn, pytest.raises(Conflict, match=f"1 unfinished jobs .* {job.id}"):
        matrices.delete(conn, matrix.id, cascade=True)
    with db.begin() as conn:
        lifecycle.cancel(conn, job.id)
        matrices.delete(conn, matrix.id)
        with pytest.raises(NotFound):
            jobs.get(conn, job.id)


def test_a_deleted_matrix_takes_no_more_requests(db: Engine, matrix: MatrixRecord) -> None:
    with db.begin() as conn:
        matrices.delete(conn, matrix.id)
    with pytest.raises(NotFound, match="was deleted"):
        ask(db, matrix)


def test_a_request_that_is_rolled_back_leaves_nothing(db: Engine, matrix: MatrixRecord) -> None:
    with db.connect() as conn:
        job, _ = submit(conn, kind="errand", settings={"seed": 8}, matrix=matrix, parts=[{}])
        conn.rollback()
        with pytest.raises(NotFound):
            jobs.get(conn, job.id)


def test_pages_of_jobs(db: Engine) -> None:
    matrix = store(db)
    made = [ask(db, matrix, seed=i)[0].id for i in range(5)]
    with db.begin() as conn:
        lifecycle.cancel(conn, made[1])
        first = jobs.page(conn, None, 3, matrix_id=matrix.id)
        rest = jobs.page(conn, first.next_cursor, 3, matrix_id=matrix.id)
        assert [job.id for job in (*first.items, *rest.items)] == made[::-1]
        assert rest.next_cursor is None
        cancelled = jobs.page(conn, None, 9, matrix_id=matrix.id, status="cancelled", kind="errand")
        assert [job.id for job in cancelled.items] == [made[1]]
        assert jobs.page(conn, None, 9, matrix_id=matrix.id, kind="mdad").items == ()


def test_there_is_no_result_yet(db: Engine, matrix: MatrixRecord) -> None:
    job, _ = ask(db, matrix, seed=9)
    with db.connect() as conn, pytest.raises(Conflict, match="queued"):
        jobs.result(conn, job.id)
