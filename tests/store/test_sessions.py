"""Sessions in the store: they expire, are deleted, hold their revision, and broken ones are noticed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text

from service.engine.data.matrix import Matrix
from service.store import invariants, matrices, sessions
from service.store.records import MatrixRecord, SessionOrder
from service.store.retention import RetentionAges
from tests.store.sweeping import sweep

DAY = timedelta(days=1)
AGES = RetentionAges(jobs=30 * DAY, selections=None, revisions=30 * DAY, idle_sessions=7 * DAY)


@pytest.fixture
def conn(db: Engine) -> Iterator[Connection]:
    """A connection whose changes do not outlive the test."""
    with db.connect() as connection:
        yield connection


@pytest.fixture
def matrix(conn: Connection) -> MatrixRecord:
    made = Matrix.build(["a", "b"], ["x", "y", "z"], np.array([[1, 0, 1], [0, 1, 1]]))
    return matrices.create(conn, made, name="m")


def session(conn: Connection, matrix: MatrixRecord, age: timedelta = timedelta(0)) -> str:
    order = SessionOrder(np.array([2, 0]), np.array([0.5, 0.25, 1.0]), np.array([0, 0, 1]))
    made = sessions.add(
        conn, matrix=matrix, settings={"budget": 2}, engine_version="1", order=order, handed_out=1
    )
    conn.execute(
        text("UPDATE sessions SET updated_at = now() - :age WHERE id = :id"), {"age": age, "id": made}
    )
    return made


def test_what_is_stored_comes_back(conn: Connection, matrix: MatrixRecord) -> None:
    made = sessions.get(conn, session(conn, matrix), DAY)

    sessions.add_answers(conn, made.id, {0: 0.25, 1: np.nan})

    order = sessions.order(conn, made)
    assert order.examples.tolist() == [2, 0]
    assert order.sizes is not None
    assert order.sizes.tolist() == [0.5, 0.25, 1.0]
    assert order.clusters is not None
    assert order.clusters.tolist() == [0, 0, 1]
    found = sessions.answers(conn, made.id)
    assert found[0] == 0.25
    assert np.isnan(found[1])
    assert sessions.get(conn, made.id, DAY).answered == 2


def test_a_silent_session_expires_and_goes_when_it_is_old(conn: Connection, matrix: MatrixRecord) -> None:
    ages = {days: session(conn, matrix, days * DAY) for days in (6, 8, 40)}

    assert sessions.get(conn, ages[8], 7 * DAY).status == "expired"
    assert sweep(conn, AGES)["idle_sessions"] == 2
    assert sweep(conn, AGES)["sessions"] == 0

    kept = conn.execute(text("SELECT id::text, status FROM sessions ORDER BY updated_at")).all()
    assert [tuple(row) for row in kept] == [(ages[8], "expired"), (ages[6], "open")]
    assert [sessions.get(conn, one, 7 * DAY).status for one in (ages[6], ages[8])] == ["open", "expired"]


def test_a_revision_stays_while_a_session_asks_its_examples(conn: Connection, matrix: MatrixRecord) -> None:
    made = session(conn, matrix)
    matrices.put_model(conn, matrix.id, Matrix.build(["c"], ["x", "y", "z"], np.array([[1, 1, 1]])))
    conn.execute(text("UPDATE matrix_revisions SET created_at = now() - interval '31 days'"))

    assert sweep(conn, AGES)["revisions"] == 0
    sessions.delete(conn, made)
    assert sweep(conn, AGES)["revisions"] == 1


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ("INSERT INTO session_answers VALUES (:id, 1, 1)", "not handed out"),
        ("UPDATE sessions SET handed_out = 3 WHERE id = :id", "more than its budget"),
        ("UPDATE sessions SET looks = '[{\"size\": 1}]' WHERE id = :id", "does not have"),
    ],
)
def test_a_damaged_session_is_noticed(conn: Connection, matrix: MatrixRecord, damage: str, rule: str) -> None:
    made = session(conn, matrix)
    assert invariants.violations(conn, invariants.SESSIONS, patience=DAY) == {}

    conn.execute(text(damage), {"id": made})

    ((broken, ids),) = invariants.violations(conn, invariants.SESSIONS, patience=DAY).items()
    assert rule in broken
    assert ids == [made]
