from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, text

from service.core.errors import InvalidRequest, NotFound
from service.engine.data.matrix import Matrix
from service.engine.data.outline import Outline
from service.store import cells, matrices
from service.store.records import AnswerCounts, ModelRecord, Origin

NOBODY = "0198c0de-7a57-7e57-8000-000000000001"


@pytest.fixture
def conn(db: Engine) -> Iterator[Connection]:
    """A connection whose changes do not outlive the test."""
    with db.connect() as connection:
        yield connection


def build(
    scores: NDArray[np.generic],
    *,
    subtasks: bool = False,
    confidences: bool = False,
    embeddings: bool = False,
) -> Matrix:
    m, n = scores.shape
    rng = np.random.default_rng(0)
    return Matrix.build(
        [f"model-{i}" for i in range(m)],
        [f"example-{j}" for j in range(n)],
        scores,
        subtasks=[f"topic-{j % 3}" for j in range(n)] if subtasks else None,
        confidences=rng.random((m, n)) if confidences else None,
        embeddings=rng.random((n, 4)) if embeddings else None,
    )


def assert_same(one: Matrix, other: Matrix) -> None:
    assert (one.models, one.examples, one.subtasks) == (other.models, other.examples, other.subtasks)
    for name in ("scores", "missing", "strata", "confidences", "embeddings"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        if a is not None:
            assert a.dtype == b.dtype, name
            np.testing.assert_array_equal(a, b, err_msg=name)


any_cell = st.sampled_from([0.0, 1.0]) | st.floats(0, 1) | st.just(float("nan"))


@given(data=st.data(), m=st.integers(1, 5), n=st.integers(1, 20), binary=st.booleans(), extras=st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_stored_is_what_is_loaded(
    conn: Connection, data: st.DataObject, m: int, n: int, binary: bool, extras: bool
) -> None:
    kind = st.sampled_from([0.0, 1.0, float("nan")]) if binary else any_cell
    rows = data.draw(st.lists(st.lists(kind, min_size=n, max_size=n), min_size=m, max_size=m))
    matrix = build(np.array(rows), subtasks=extras, confidences=extras, embeddings=extras)
    record = matrices.create(conn, matrix, name="any")
    loaded = matrices.load(conn, record.id)
    assert_same(loaded, matrix)
    assert record.missing_cells == matrix.missing_cells
    assert record.binary == matrix.binary
    assert record.constant_examples == int(matrix.constant.sum())
    # Ids are added where a request names any; what is known of models is not in the cells.
    found = Outline(**matrices.outline(conn, record.id))
    assert replace(
        found, examples=matrix.examples, accuracies=(), arrived=(), released=(), families=()
    ) == Outline.of(matrix)
    assert found.arrived == (1,) * m
    conn.rollback()


def test_the_record_says_what_is_in_it(conn: Connection) -> None:
    scores = np.array([[1, 0, 1, 1], [1, 0, 0, 1]])
    record = matrices.create(conn, build(scores, subtasks=True), name="small")
    assert (record.name, record.revision, record.n_models, record.n_examples) == ("small", 1, 2, 4)
    assert (record.subtasks, record.binary, record.missing_cells) == (
        ("topic-0", "topic-1", "topic-2"),
        True,
        0,
    )
    assert (record.constant_examples, record.has_confidences, record.has_embeddings) == (3, False, False)
    assert matrices.get(conn, record.id) == record


def test_the_content_hash_names_the_content(conn: Connection) -> None:
    scores = np.array([[1, 0, 1], [0, 0, 1]])

    def hash_of(matrix: Matrix) -> str:
        return matrices.create(conn, matrix, name="x").content_hash

    same = hash_of(build(scores))
    assert hash_of(build(scores.astype(float))) == same
    assert hash_of(build(scores[::-1])) != same
    assert hash_of(build(scores, subtasks=True)) != same
    assert hash_of(build(scores, confidences=True)) != same
    assert hash_of(build(scores, embeddings=True)) != same
    assert hash_of(build(np.where(scores == 0, np.nan, 1.0))) != same


def test_one_more_model_is_one_more_row(conn: Connection) -> None:
    scores = np.array([[1, 0, 1], [0, 0, 1]])
    record = matrices.create(conn, build(scores), name="grows")
    before = rows_of(conn, record.id)
    row = Matrix.build(["a-new"], ["example-0", "example-1", "example-2"], np.array([[0.5, np.nan, 1.0]]))
    after, created = matrices.put_model(conn, record.id, row)
    assert (created, after.revision, after.n_models, after.missing_cells, after.binary) == (
        True,
        2,
        3,
        1,
        False,
    )
    assert rows_of(conn, record.id)[1:] == before
    loaded = matrices.load(conn, record.id)
    assert loaded.models == ("a-new", "model-0", "model-1")
    np.testing.assert_array_equal(loaded.scores, [[0.5, 0, 1], [1, 0, 1], [0, 0, 1]])
    assert after.constant_examples == int(loaded.constant.sum())


def test_a_revision_reads_as_it_was(conn: Connection) -> None:
    first = build(np.array([[1, 0, 1], [0, 0, 1]]), confidences=True)
    record = matrices.create(conn, first, name="revised")
    better = Matrix.build(["model-1"], list(first.examples), np.array([[1, 1, 1]]))
    second, created = matrices.put_model(conn, record.id, better)
    assert (created, second.revision, second.has_confidences) == (False, 2, False)
    assert_same(matrices.load(conn, record.id, 1), first)
    assert matrices.get(conn, record.id, 1) == record
    np.testing.assert_array_equal(matrices.load(conn, record.id).scores, [[1, 0, 1], [1, 1, 1]])
    assert [model.revision for model in matrices.models(conn, record.id, None, None, 9).items] == [1, 2]
    assert [model.accuracy for model in matrices.models(conn, record.id, 1, None, 9).items] == [2 / 3, 1 / 3]
    # Back to the old content: the old hash, a new revision.
    third, _ = matrices.put_model(conn, record.id, first.take(models=np.array([1])))
    assert (third.revision, third.content_hash) == (3, record.content_hash)
    assert third.constant_examples == record.constant_examples


def test_the_same_row_again_changes_nothing(conn: Connection) -> None:
    matrix = build(np.array([[1, 0, 1], [0, 0, 1]]))
    record = matrices.create(conn, matrix, name="same")
    assert matrices.put_model(conn, record.id, matrix.take(models=np.array([0]))) == (record, False)


def test_some_models_only(conn: Connection) -> None:
    record = matrices.create(conn, build(np.eye(3)), name="some")
    assert matrices.load(conn, record.id, models=["model-2", "model-0"]).models == ("model-0", "model-2")
    with pytest.raises(NotFound, match="no model 'model-9'"):
        matrices.load(conn, record.id, models=["model-0", "model-9"])


def test_unknown_things_are_not_found(conn: Connection) -> None:
    record = matrices.create(conn, build(np.eye(2)), name="known")
    for unknown in (NOBODY, "", "x", "0" * 40, "\0"):
        with pytest.raises(NotFound):
            matrices.get(conn, unknown)
    with pytest.raises(NotFound, match="no revision 2; the newest is 1"):
        matrices.get(conn, record.id, 2)
    for call in (matrices.examples, matrices.outline, matrices.delete):
        with pytest.raises(NotFound):
            call(conn, NOBODY)


def test_pages_follow_each_other(conn: Connection) -> None:
    made = [matrices.create(conn, build(np.eye(2)), name=str(i)).id for i in range(5)]
    seen, cursor = [], None
    while True:
        page = matrices.page(conn, cursor, 2)
        seen += [record.id for record in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen[:5] == made[::-1]
    first = matrices.models(conn, made[0], None, None, 1)
    assert [m.model for m in first.items] == ["model-0"]
    assert [m.model for m in matrices.models(conn, made[0], None, first.next_cursor, 1).items] == ["model-1"]
    for bad in ("?", "AAAA", "bm90IGFuIGlk", "AA"):
        with pytest.raises(InvalidRequest):
            matrices.page(conn, bad, 2)


def test_deleting_leaves_nothing_behind(conn: Connection) -> None:
    record = matrices.create(conn, build(np.eye(3), subtasks=True), name="gone")
    matrices.put_model(conn, record.id, build(np.ones((1, 3))))
    matrices.delete(conn, record.id)
    for table in ("matrices", "matrix_revisions", "matrix_rows"):
        column = "id" if table == "matrices" else "matrix_id"
        query = text(f"SELECT count(*) FROM {table} WHERE {column} = :id")
        assert conn.scalar(query, {"id": record.id}) == 0


def test_concurrent_puts_take_turns(db: Engine) -> None:
    with db.begin() as conn:
        record = matrices.create(conn, build(np.eye(3)), name="busy")

    def put(i: int) -> None:
        with db.begin() as conn:
            row = Matrix.build([f"new-{i}"], [f"example-{j}" for j in range(3)], np.ones((1, 3)))
            matrices.put_model(conn, record.id, row)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(8)))
    with db.begin() as conn:
        now = matrices.get(conn, record.id)
        assert (now.revision, now.n_models) == (9, 11)
        matrices.delete(conn, record.id)


def rows_of(conn: Connection, matrix_id: str) -> list[tuple[object, ...]]:
    query = text("SELECT xmin::text, ctid::text, model FROM matrix_rows WHERE matrix_id = :id ORDER BY model")
    return [tuple(row) for row in conn.execute(query, {"id": matrix_id})]


def test_scores_are_kept_packed_and_uncompressed(conn: Connection) -> None:
    record = matrices.create(conn, build(np.random.default_rng(0).integers(0, 2, (3, 800))), name="packed")
    sizes = conn.execute(
        text("SELECT octet_length(scores), missing, confidences FROM matrix_rows WHERE matrix_id = :id"),
        {"id": record.id},
    ).all()
    assert sizes == [(100, None, None)] * 3
    storage = (
        "SELECT attstorage FROM pg_attribute WHERE attrelid = 'matrix_rows'::regclass AND attname = 'scores'"
    )
    assert conn.scalar(text(storage)) == "e"


def test_where_the_examples_are_from_is_kept_and_changes_no_hash(conn: Connection) -> None:
    matrix = build(np.eye(3))
    origin = Origin("lm_eval", ("b", "a", "b"), ("0", "1", "7"), ("h", None, "h2"))
    bare = matrices.create(conn, matrix, name="bare")
    named = matrices.create(conn, matrix, name="named", origin=origin)
    assert (matrices.origin(conn, bare.id), matrices.origin(conn, named.id)) == (None, origin)
    assert bare.content_hash == named.content_hash
    other = Origin("inspect", ("t",) * 3, ("1", "2", "3"))
    row = matrix.take(models=np.array([0]))
    for record in (bare, named):
        assert matrices.put_model(conn, record.id, row, origin=other) == (record, False)
    assert (matrices.origin(conn, bare.id), matrices.origin(conn, named.id)) == (other, origin)


def test_what_a_log_says_of_its_answers_stands_beside_the_model(conn: Connection) -> None:
    matrix = build(np.array([[1, np.nan], [0, 1]]))
    repeats, states = np.array([3, 0], dtype=np.uint16), np.array([0, 1], dtype=np.uint8)
    first = AnswerCounts(1, 0, 0, 3, 0.5, states, repeats)
    record = matrices.create(conn, matrix, name="told", accounts=[first, AnswerCounts(0, 0, 0, 2)])
    told = [(m.errored, m.unscored, m.not_run, m.answers, m.reported) for m in models_of(conn, record.id)]
    assert told == [(1, 0, 0, 3, 0.5), (0, 0, 0, 2, None)]
    before = matrices.create(conn, matrix, name="before")
    assert models_of(conn, before.id)[0].errored is None
    assert before.content_hash == record.content_hash
    same, _ = matrices.put_model(conn, before.id, matrix.take(models=np.array([0])), account=first)
    assert (same.revision, models_of(conn, before.id)[0].answers) == (1, 3)


def models_of(conn: Connection, matrix_id: str) -> tuple[ModelRecord, ...]:
    return matrices.models(conn, matrix_id, None, None, 10).items


def test_cells_of_earlier_releases_say_no_more_than_is_known(conn: Connection) -> None:
    record = matrices.create(conn, build(np.array([[1, np.nan, 0.5]])), name="old")
    found = cells.page(conn, record.id, "model-0", None, None, 10).items
    assert [(c.score, c.state, c.answers) for c in found] == [
        (1.0, "scored", None),
        (None, "missing", None),
        (0.5, "scored", None),
    ]
    with pytest.raises(NotFound, match="no model 'x'"):
        cells.page(conn, record.id, "x", None, None, 10)
