"""Attempts in the store: what was stored is loaded, in every revision, and they are part of the content."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine

from service.engine.data.attempts import ERRORED, OUTCOMES, SCORED, UNSCORED, ModelAttempts
from service.engine.data.matrix import Matrix
from service.store import attempt_encoding, matrices
from service.store.records import AnswerCounts


@pytest.fixture
def conn(db: Engine) -> Iterator[Connection]:
    """A connection whose changes do not outlive the test."""
    with db.connect() as connection:
        yield connection


def counts_of(attempts: ModelAttempts | None) -> AnswerCounts:
    return AnswerCounts(errored=0, unscored=0, not_run=0, answers=3, attempts=attempts)


def assert_same(one: ModelAttempts, other: ModelAttempts) -> None:
    assert one.ordered == other.ordered
    for name in ("counts", "values", "outcomes"):
        assert getattr(one, name).dtype == getattr(other, name).dtype
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


@given(
    cells=st.lists(
        st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), max_size=4), min_size=1, max_size=9
    ),
    binary=st.booleans(),
    ordered=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_encoding_is_undone(cells: list[list[float]], binary: bool, ordered: bool, seed: int) -> None:
    values = np.array([value for cell in cells for value in cell])
    outcomes = np.random.default_rng(seed).integers(0, len(OUTCOMES), len(values)).astype(np.uint8)
    kind = (values > 0.5).astype(np.uint8) if binary else values.astype(np.float64)
    attempts = ModelAttempts(np.array([len(cell) for cell in cells], np.uint16), kind, outcomes, ordered)

    assert_same(attempt_encoding.from_raw(attempt_encoding.raw(attempts), len(cells)), attempts)


def test_every_revision_keeps_its_attempts(conn: Connection) -> None:
    first = ModelAttempts(
        np.array([2, 1], np.uint16), np.array([1, 0, 1], np.uint8), np.zeros(3, np.uint8), ordered=True
    )
    second = ModelAttempts(
        np.array([2, 1], np.uint16), np.array([0, 1, 1], np.uint8), np.zeros(3, np.uint8), ordered=True
    )
    matrix = Matrix.build(["a", "b"], ["x", "y"], np.array([[0.5, 1], [1, 0]]))
    record = matrices.create(conn, matrix, name="m", accounts=[counts_of(first), counts_of(None)])

    # The same means from other attempts are other content.
    later, _ = matrices.put_model(conn, record.id, matrix.take(np.array([0])), account=counts_of(second))

    assert later.revision == 2
    assert later.content_hash != record.content_hash
    assert_same(matrices.attempts(conn, record, ["a"])[0], first)
    assert_same(matrices.attempts(conn, later)[0], second)
    assert matrices.attempts(conn, later)[1].counts.tolist() == [1, 1]


def test_cells_with_one_attempt_have_it_from_score_and_state(conn: Connection) -> None:
    states = np.array([SCORED, ERRORED, SCORED], dtype=np.uint8)
    matrix = Matrix.build(["a"], ["x", "y", "z"], np.array([[1, np.nan, np.nan]]))
    account = AnswerCounts(errored=1, unscored=0, not_run=0, answers=1, states=states)
    record = matrices.create(conn, matrix, name="m", accounts=[account])

    (mine,) = matrices.attempts(conn, record)

    assert mine.outcomes.tolist() == [SCORED, ERRORED, UNSCORED]
    assert mine.counts.tolist() == [1, 1, 1]
