from __future__ import annotations

import io

import pytest
from sqlalchemy import Engine

from service.core.errors import InvalidUpload, StorageFull
from service.engine.data.attempts import FAILED, SCORED
from service.ingest import Limits, Options
from service.store import matrices
from service.usecases.upload_matrix import SentFile, create_matrix, put_model

TABLE = b"model,x,y,z\na,1,0,1\nb,0,0,1\n"
ROOM = 2**30


def sent(table: bytes, options: Options | None = None) -> SentFile:
    limits = Limits(bytes=ROOM, models=10, examples=10, cells=100)
    return SentFile(io.BytesIO(table), "results.csv", options or Options(), limits)


def test_a_file_becomes_a_matrix_and_a_model_joins_it(db: Engine) -> None:
    with db.begin() as conn:
        matrix = create_matrix(conn, sent(TABLE).read(), "small", ROOM, {})
    stored = put_model(db, matrix.id, sent(b"model,z,x,y\nc,1,1,0\n"), ROOM)
    assert stored.created
    assert (stored.matrix.revision, stored.matrix.n_models) == (2, 3)
    with db.begin() as conn:
        loaded = matrices.load(conn, matrix.id, 2)
    assert loaded.scores[loaded.models.index("c")].tolist() == [1, 0, 1]
    again = put_model(db, matrix.id, sent(b"model,x,y,z\nc,0,0,0\n"), ROOM)
    assert not again.created


def test_nothing_is_stored_where_there_is_no_room(db: Engine) -> None:
    with pytest.raises(StorageFull, match="delete some first"), db.begin() as conn:
        create_matrix(conn, sent(TABLE).read(), "too much", 1, {})
    with db.begin() as conn:
        assert all(matrix.name != "too much" for matrix in matrices.page(conn, None, 100).items)


def test_a_model_of_another_benchmark_is_refused(db: Engine) -> None:
    with db.begin() as conn:
        matrix = create_matrix(conn, sent(TABLE).read(), "small", ROOM, {})
    with pytest.raises(InvalidUpload):
        put_model(db, matrix.id, sent(b"model,p,q\nc,1,1\n"), ROOM)


ATTEMPTS = b"model,example,attempt,score,outcome\na,x,1,1,\na,x,2,,errored\na,y,1,0,\nb,x,1,1,\nb,y,1,1,\n"


def test_attempts_are_added_to_those_there_are(db: Engine) -> None:
    with db.begin() as conn:
        matrix = create_matrix(conn, sent(ATTEMPTS).read(), "small", ROOM, {})
    more = b"model,example,attempt,score\na,x,1,0\na,x,2,0\n"

    stored = put_model(db, matrix.id, sent(more), ROOM, append=True)

    assert (stored.matrix.revision, stored.created) == (2, False)
    numbers = stored.upload.attempt_numbers
    assert numbers is not None
    assert (numbers.min, numbers.max) == (1, 4)
    with db.begin() as conn:
        (mine,) = matrices.attempts(conn, stored.matrix, ["a"])
        row = matrices.load(conn, matrix.id, 2, models=["a"])
        (told,) = matrices.models(conn, matrix.id, 2, None, 1, only="a").items
    assert mine.counts.tolist() == [4, 1]
    assert mine.values.tolist() == [1, 0, 0, 0, 0]
    assert row.scores[0].tolist() == [pytest.approx(1 / 3), 0]
    assert (told.answers, told.errored) == (4, 0)


def test_attempts_of_a_new_model_are_its_first(db: Engine) -> None:
    with db.begin() as conn:
        matrix = create_matrix(conn, sent(ATTEMPTS).read(), "small", ROOM, {})

    stored = put_model(db, matrix.id, sent(b"model,x,y\nc,1,0\n"), ROOM, append=True)

    assert stored.created


def test_an_error_that_counts_as_wrong_at_upload_is_a_failed_attempt(db: Engine) -> None:
    table = b"model,example,attempt,score,outcome\na,x,1,,errored\na,y,1,0,\na,y,2,1,\n"
    with db.begin() as conn:
        matrix = create_matrix(conn, sent(table, Options(missing="zero")).read(), "small", ROOM, {})
        (mine,) = matrices.attempts(conn, matrix)

    assert mine.outcomes.tolist() == [FAILED, SCORED, SCORED]
