from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text

from service.core.errors import NotFound
from service.engine.data.matrix import Matrix
from service.jobs import lifecycle
from service.jobs.submit import submit
from service.store import comparisons, idempotency, jobs, matrices, selections
from service.store.records import MatrixRecord
from service.store.retention import RetentionAges
from tests.store.sweeping import sweep

MONTH = timedelta(days=30)
AGES = RetentionAges(jobs=MONTH, selections=MONTH, revisions=MONTH)
CHOSEN = "5f9c7a52-6a0e-5d0b-9d52-000000000001"


@pytest.fixture
def conn(db: Engine) -> Iterator[Connection]:
    """A connection whose changes do not outlive the test."""
    with db.connect() as connection:
        yield connection


@pytest.fixture
def matrix(conn: Connection) -> MatrixRecord:
    """A matrix with three revisions, of which the first two are old."""
    made = Matrix.build(["a", "b"], ["x", "y"], np.array([[1, 0], [0, 1]]))
    record = matrices.create(conn, made, name="m")
    for row in ([[1, 1]], [[0, 0]]):
        record, _ = matrices.put_model(conn, record.id, Matrix.build(["a"], ["x", "y"], np.array(row)))
    conn.execute(
        text("UPDATE matrix_revisions SET created_at = now() - interval '31 days' WHERE revision < 3")
    )
    return record


def old_job(conn: Connection, matrix: MatrixRecord, days: int) -> str:
    job, _ = submit(conn, kind="errand", settings={"days": days}, matrix=matrix, parts=[{}])
    lifecycle.cancel(conn, job.id)
    # A final job refuses to change, its age too.
    conn.execute(text("ALTER TABLE jobs DISABLE TRIGGER guard"))
    conn.execute(
        text("UPDATE jobs SET finished_at = now() - :age WHERE id = :id"),
        {"age": timedelta(days=days), "id": job.id},
    )
    conn.execute(text("ALTER TABLE jobs ENABLE TRIGGER guard"))
    return job.id


def rows(conn: Connection, matrix: MatrixRecord) -> int:
    count = conn.scalar(text("SELECT count(*) FROM matrix_rows WHERE matrix_id = :id"), {"id": matrix.id})
    return int(count or 0)


def test_finished_jobs_go_when_they_are_old(conn: Connection, matrix: MatrixRecord) -> None:
    old, young = old_job(conn, matrix, 31), old_job(conn, matrix, 29)
    unfinished, _ = submit(conn, kind="errand", settings={}, matrix=matrix, parts=[{}])
    assert sweep(conn, AGES)["jobs"] == 1
    with pytest.raises(NotFound):
        jobs.get(conn, old)
    assert jobs.get(conn, young)
    assert jobs.get(conn, unfinished.id)


def test_old_revisions_go_with_the_rows_only_they_had(conn: Connection, matrix: MatrixRecord) -> None:
    assert rows(conn, matrix) == 4
    gone = sweep(conn, AGES)
    assert (gone["revisions"], gone["rows"]) == (2, 2)
    assert matrices.load(conn, matrix.id).models == ("a", "b")
    assert rows(conn, matrix) == 2
    with pytest.raises(NotFound, match="no revision 1; the newest is 3"):
        matrices.get(conn, matrix.id, 1)


def test_a_revision_stays_while_something_was_made_from_it(conn: Connection, matrix: MatrixRecord) -> None:
    first, second = matrices.get(conn, matrix.id, 1), matrices.get(conn, matrix.id, 2)
    old_job(conn, first, 1)
    keep_selection(conn, second)
    assert sweep(conn, AGES)["revisions"] == 0
    assert matrices.load(conn, matrix.id, 1).scores.tolist() == [[1, 0], [0, 1]]


def test_selections_stay_while_answers_refer_to_them(conn: Connection, matrix: MatrixRecord) -> None:
    keep_selection(conn, matrix)
    conn.execute(
        text("INSERT INTO answers VALUES (:id, 'm', '', now())"),
        {"id": CHOSEN},
    )
    conn.execute(text("ALTER TABLE selections DISABLE TRIGGER guard"))
    conn.execute(text("UPDATE selections SET created_at = now() - interval '31 days'"))
    assert sweep(conn, AGES)["selections"] == 0
    conn.execute(text("DELETE FROM answers"))
    assert "selections" not in sweep(conn, RetentionAges(MONTH, None, MONTH))
    assert sweep(conn, AGES)["selections"] == 1


def test_comparisons_go_when_nobody_has_asked_for_them_long_enough(
    conn: Connection, matrix: MatrixRecord
) -> None:
    for body in (b"old", b"asked again"):
        comparisons.add(conn, body, matrix_id=matrix.id, selection_id=None)
    conn.execute(text("UPDATE comparisons SET created_at = now() - interval '31 days'"))
    kept = comparisons.add(conn, b"asked again", matrix_id=matrix.id, selection_id=None)
    assert sweep(conn, AGES)["comparisons"] == 1
    assert [one.id for one in comparisons.page(conn, None, 10).items] == [kept]


def test_answers_under_idempotency_keys_go_after_a_day(conn: Connection) -> None:
    for key, age in (("young", timedelta(hours=23)), ("old", timedelta(hours=25))):
        assert idempotency.find(conn, key, b"f") is None
        idempotency.keep(conn, key, b"f", idempotency.StoredAnswer(200, {}, b""))
        made = {"age": age, "key": key}
        conn.execute(text("UPDATE idempotency_keys SET created_at = now() - :age WHERE key = :key"), made)
    sweep(conn, AGES)
    assert conn.scalars(text("SELECT key FROM idempotency_keys")).all() == ["young"]


def keep_selection(conn: Connection, matrix: MatrixRecord) -> None:
    selections.add(
        conn, selection_id=CHOSEN, matrix_id=matrix.id, revision=matrix.revision,
        method="random", size=1, body={}, content_hash="h",
    )  # fmt: skip
