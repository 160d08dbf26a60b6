from __future__ import annotations

import io

import pytest
from sqlalchemy import Engine

from service.core.errors import InvalidUpload, StorageFull
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
