"""Matrices: one row per model; each row is valid for a range of revisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, func, insert, or_, select, text, update
from sqlalchemy import delete as delete_from
from uuid6 import uuid7

from service.core.errors import Conflict, NotFound
from service.engine.data.attempts import ModelAttempts, single_attempts
from service.engine.data.matrix import Matrix
from service.store import attempt_encoding, cursors, model_facts, row_encoding
from service.store.records import (
    UNFINISHED,
    AnswerCounts,
    MatrixRecord,
    ModelFacts,
    ModelRecord,
    Origin,
    Page,
)
from service.store.tables import jobs, matrices, matrix_revisions, matrix_rows, selections, sessions
from service.store.workspace_scope import mine, owner

_ACCOUNT = ("errored", "unscored", "not_run", "answers", "reported", "states", "repeats", "attempts")
_COLUMNS = (
    'matrix_id, model, valid_from, "binary", scored, accuracy, sha256, scores, missing, confidences, '
    + ", ".join(_ACCOUNT)
)
_INCOMING = """
CREATE TEMPORARY TABLE IF NOT EXISTS incoming_rows (LIKE matrix_rows INCLUDING STORAGE) ON COMMIT DELETE ROWS
"""
_STORE = f"""
WITH moved AS (DELETE FROM incoming_rows RETURNING {_COLUMNS})
INSERT INTO matrix_rows ({_COLUMNS}) SELECT {_COLUMNS} FROM moved
"""  # noqa: S608
_COPY = f"COPY incoming_rows ({_COLUMNS}) FROM STDIN (FORMAT BINARY)"
_TYPES = (
    "uuid", "text", "int4", "bool", "int4", "float8", "bytea", "bytea", "bytea", "bytea",
    "int4", "int4", "int4", "int8", "float8", "bytea", "bytea", "bytea",
)  # fmt: skip


def create(
    conn: Connection,
    matrix: Matrix,
    *,
    name: str,
    origin: Origin | None = None,
    accounts: Sequence[AnswerCounts] | None = None,
) -> MatrixRecord:
    """Store a matrix as revision 1.

    Parameters
    ----------
    origin : Origin, optional
        The tool's ids of the examples, if its own logs were read.
    accounts : sequence of AnswerCounts, optional
        One per model, in the matrix's order.
    """
    matrix_id = str(uuid7())
    fields: Sequence[AnswerCounts | None] = accounts or [None] * len(matrix.models)
    rows = [row_encoding.pack(matrix, i, account) for i, account in enumerate(fields)]
    header, bounds = row_encoding.header_sha256(matrix), row_encoding.bounds(matrix)
    about = {"origin": row_encoding.pack_origin(origin), **_header(matrix, header, bounds)}
    size = sum(len(value) for value in about.values() if isinstance(value, bytes))
    size += sum(row.stored_bytes for row in rows)
    belongs = {"id": matrix_id, "name": name, "workspace": owner(conn), "stored_bytes": size}
    conn.execute(insert(matrices).values(belongs | about))
    _add_rows(conn, matrix_id, 1, rows)
    _add_revision(conn, matrix_id, 1, len(matrix.examples), header, bounds)
    return get(conn, matrix_id)


def get(conn: Connection, matrix_id: str, revision: int | None = None) -> MatrixRecord:
    """One revision, by default the newest.

    Raises
    ------
    NotFound
        No such matrix or revision.
    """
    known = cursors.known_id(matrix_id, "matrix")
    at = matrices.c.revision if revision is None else revision
    ours = matrices.c.id == known, mine(conn, matrices)
    row = conn.execute(_records(at).where(*ours)).one_or_none()
    if row is None:
        newest = conn.scalar(select(matrices.c.revision).where(*ours))
        if newest is None:
            raise NotFound(f"There is no matrix {matrix_id!r}.")
        raise NotFound(
            f"Matrix {matrix_id} has no revision {revision}; the newest is {newest}."
            " Old revisions that no job or selection uses are deleted after some time."
        )
    return _record(row)


def page(conn: Connection, cursor: str | None, limit: int) -> Page[MatrixRecord]:
    """Matrices at their newest revisions, newest matrix first."""
    ours = _records(matrices.c.revision).where(mine(conn, matrices))
    query = ours.order_by(matrices.c.id.desc()).limit(limit + 1)
    if cursor is not None:
        query = query.where(matrices.c.id < cursors.decode_id(cursor))
    found = [_record(row) for row in conn.execute(query)]
    return cursors.page(found, [record.id for record in found], limit)


def models(
    conn: Connection,
    matrix_id: str,
    revision: int | None,
    cursor: str | None,
    limit: int,
    *,
    only: str | None = None,
) -> Page[ModelRecord]:
    """Models of a revision with their accuracies, by name; or one of them only."""
    record = get(conn, matrix_id, revision)
    r = matrix_rows.c
    query = (
        select(r.model, r.accuracy, r.scored, r.valid_from, *(r[name] for name in _ACCOUNT[:5]))
        .where(valid_at(record))
        .order_by(r.model)
        .limit(limit + 1)
    )
    if cursor is not None:
        query = query.where(r.model > cursors.decode(cursor))
    if only is not None:
        query = query.where(r.model == only)
    rows = conn.execute(query).all()
    facts = model_facts.of(conn, record.id, [row.model for row in rows])
    found = [
        replace(
            ModelRecord(row.model, row.accuracy, row.scored, record.n_examples - row.scored, *row[3:]),
            facts=facts.get(row.model, ModelFacts()),
        )
        for row in rows
    ]
    return cursors.page(found, [model.model for model in found], limit)


def known_models(conn: Connection, record: MatrixRecord, names: Sequence[str]) -> set[str]:
    """Those of these models that the revision has."""
    r = matrix_rows.c
    return set(conn.scalars(select(r.model).where(valid_at(record), r.model.in_(names))))


def examples(conn: Connection, matrix_id: str) -> tuple[str, ...]:
    """Example ids in the matrix's order; the same in every revision."""
    known = matrices.c.id == cursors.known_id(matrix_id, "matrix")
    packed = conn.scalar(select(matrices.c.examples).where(known, mine(conn, matrices)))
    if packed is None:
        raise NotFound(f"There is no matrix {matrix_id!r}.")
    return tuple(orjson.loads(row_encoding.decompress(packed)))


def origin(conn: Connection, matrix_id: str) -> Origin | None:
    """The ids that the tool that ran the examples uses for them; None if no log had any."""
    ours = matrices.c.id == cursors.known_id(matrix_id, "matrix"), mine(conn, matrices)
    return row_encoding.unpack_origin(conn.scalar(select(matrices.c.origin).where(*ours)))


def stored_bytes(conn: Connection) -> int:
    """Stored bytes of all matrices of the workspace, with all their revisions."""
    total = select(func.coalesce(func.sum(matrices.c.stored_bytes), 0)).where(mine(conn, matrices))
    return int(conn.scalar(total) or 0)


def subtask_codes(conn: Connection, matrix_id: str) -> NDArray[np.int32]:
    """Index of each example's subtask, in the order of the examples; all 0 without subtasks."""
    ours = matrices.c.id == matrix_id, mine(conn, matrices)
    return _strata(conn.scalar(select(matrices.c.strata).where(*ours)))


def outline(conn: Connection, matrix_id: str, revision: int | None = None) -> dict[str, Any]:
    """The data of a revision that a plan needs, without its cells: the fields of the engine's Outline."""
    record = get(conn, matrix_id, revision)
    ours = matrices.c.id == record.id, mine(conn, matrices)
    strata = _strata(conn.scalar(select(matrices.c.strata).where(*ours)))
    r = matrix_rows.c
    asked = select(r.model, r.missing, r.accuracy, r.valid_from).where(valid_at(record)).order_by(r.model)
    rows = conn.execute(asked).all()
    facts = model_facts.of(conn, record.id)
    absent = row_encoding.missing_of(
        [row.missing for row in rows if row.missing is not None], record.n_examples
    )
    return {
        "models": tuple(row.model for row in rows),
        "n_examples": record.n_examples,
        "subtask_sizes": tuple(np.bincount(strata).tolist()),
        "subtasks": record.subtasks,
        "binary": record.binary,
        "missing_cells": record.missing_cells,
        "confidences": record.has_confidences,
        "embeddings": record.has_embeddings,
        "incomplete_models": tuple(row.model for row in rows if row.missing is not None),
        "incomplete_examples": 0 if absent is None else int(absent.any(axis=0).sum()),
        "accuracies": tuple(row.accuracy for row in rows),
        "arrived": tuple(row.valid_from for row in rows),
        "released": tuple(_day(facts.get(row.model)) for row in rows),
        "families": tuple(facts[row.model].family if row.model in facts else None for row in rows),
    }


def _day(facts: ModelFacts | None) -> int | None:
    return None if facts is None or facts.released is None else facts.released.toordinal()


def load(
    conn: Connection, matrix_id: str, revision: int | None = None, models: Sequence[str] | None = None
) -> Matrix:
    """The cells of a revision, or of some of its models.

    Raises
    ------
    NotFound
        No such matrix, revision or model.
    """
    record = get(conn, matrix_id, revision)
    ours = matrices.c.id == record.id, mine(conn, matrices)
    header = conn.execute(select(matrices).where(*ours)).one()
    rows = _rows(conn, record, models, "confidences")
    n = record.n_examples
    vectors = None if header.embeddings is None else row_encoding.decompress(header.embeddings)
    return Matrix(
        models=tuple(row[0] for row in rows),
        examples=tuple(orjson.loads(row_encoding.decompress(header.examples))),
        scores=row_encoding.scores_of([(row[1], row[2]) for row in rows], n),
        missing=row_encoding.missing_of([row[3] for row in rows], n),
        subtasks=tuple(header.subtasks),
        strata=_strata(header.strata),
        confidences=row_encoding.confidences_of([row[4] for row in rows], n),
        embeddings=None if vectors is None else np.frombuffer(vectors, "<f4").reshape(n, -1).copy(),
    )


def attempts(
    conn: Connection, record: MatrixRecord, models: Sequence[str] | None = None
) -> tuple[ModelAttempts, ...]:
    """Every attempt of each model of a revision, or of some of them, by model.

    A model whose cells have one attempt each has it from its scores.

    Raises
    ------
    NotFound
        No such model.
    """
    rows, n = _rows(conn, record, models, "states, attempts"), record.n_examples
    return tuple(_attempts(row, n) for row in rows)


def _attempts(row: tuple[Any, ...], n: int) -> ModelAttempts:
    _, binary, scores, missing, states, every = row
    if every is not None:
        return attempt_encoding.from_raw(row_encoding.decompress(every), n)
    absent = row_encoding.missing_of([missing], n)
    return single_attempts(
        row_encoding.scores_of([(binary, scores)], n)[0],
        None if absent is None else absent[0],
        None if states is None else np.frombuffer(row_encoding.decompress(states), np.uint8),
    )


def lock(conn: Connection, matrix_id: str) -> None:
    """Let no one else add or replace models of the matrix until the transaction ends.

    Raises
    ------
    NotFound
        No such matrix.
    """
    ours = matrices.c.id == cursors.known_id(matrix_id, "matrix"), mine(conn, matrices)
    if conn.scalar(select(matrices.c.id).where(*ours).with_for_update(key_share=True)) is None:
        raise NotFound(f"There is no matrix {matrix_id!r}.")


def put_model(
    conn: Connection,
    matrix_id: str,
    row: Matrix,
    *,
    origin: Origin | None = None,
    account: AnswerCounts | None = None,
) -> tuple[MatrixRecord, bool]:
    """Add or replace one model in a new revision; the other rows do not change.

    Parameters
    ----------
    row : Matrix
        One model on exactly the matrix's examples.
    origin : Origin, optional
        Stored if the matrix has none yet.
    account : AnswerCounts, optional

    Returns
    -------
    record : MatrixRecord
        The new revision; the current one if it already holds exactly this row.
    created : bool
        Whether the model is new to the matrix.
    """
    known = cursors.known_id(matrix_id, "matrix")
    ours = matrices.c.id == known, mine(conn, matrices)
    held = conn.execute(select(matrices).where(*ours).with_for_update(key_share=True)).one_or_none()
    if held is None:
        raise NotFound(f"There is no matrix {matrix_id!r}.")
    if held.origin is None and origin is not None:
        conn.execute(update(matrices).where(*ours).values(origin=row_encoding.pack_origin(origin)))
    packed = row_encoding.pack(row, 0, account)
    current = matrix_rows.c.matrix_id == known, matrix_rows.c.valid_to.is_(None)
    same_model = and_(*current, matrix_rows.c.model == packed.model)
    before = conn.scalar(select(matrix_rows.c.sha256).where(same_model))
    if before == packed.sha256:
        fields = dict(zip(_ACCOUNT, packed.account, strict=True))
        conn.execute(update(matrix_rows).where(same_model).values(fields))
        return get(conn, known), False
    revision = held.revision + 1
    conn.execute(update(matrix_rows).where(same_model).values(valid_to=revision))
    _add_rows(conn, known, revision, [packed])
    bounds = row_encoding.bounds(row)
    if before is None:
        bounds = row_encoding.merge_bounds(bounds, row_encoding.unpack_bounds(held.bounds))
    else:
        bounds = _bounds(conn, known, revision, held.n_examples)
    changed = {
        "revision": revision,
        "bounds": row_encoding.compress(bounds.tobytes()),
        "stored_bytes": matrices.c.stored_bytes + packed.stored_bytes,
    }
    conn.execute(update(matrices).where(*ours).values(changed))
    _add_revision(conn, known, revision, held.n_examples, held.header_sha256, bounds)
    return get(conn, known), before is None


def delete(conn: Connection, matrix_id: str, *, cascade: bool = False) -> None:
    """Delete a matrix with its finished jobs, and with its selections and sessions when `cascade`.

    Raises
    ------
    Conflict
        Unfinished jobs use it, or selections or sessions do and `cascade` is false.
    """
    known = cursors.known_id(matrix_id, "matrix")
    # The lock blocks submissions, whose foreign key needs a shared lock.
    ours = matrices.c.id == known, mine(conn, matrices)
    if conn.scalar(select(matrices.c.id).where(*ours).with_for_update()) is None:
        raise NotFound(f"There is no matrix {matrix_id!r}.")
    of_matrix = and_(jobs.c.matrix_id == known, mine(conn, jobs))
    unfinished = conn.scalars(select(jobs.c.id).where(of_matrix, jobs.c.status.in_(UNFINISHED))).all()
    if unfinished:
        raise Conflict(
            f"{len(unfinished)} unfinished jobs use this matrix; the first is {unfinished[0]}. Cancel them "
            "or wait until they have ended, then delete the matrix."
        )
    from_matrix = and_(selections.c.matrix_id == known, mine(conn, selections))
    chosen = conn.scalar(select(func.count()).select_from(selections).where(from_matrix))
    if chosen and not cascade:
        raise Conflict(
            f"{chosen} selections were chosen from this matrix. Delete them first, or send cascade=true to "
            "delete them too."
        )
    asked = and_(sessions.c.matrix_id == known, mine(conn, sessions))
    running = conn.scalar(select(func.count()).select_from(sessions).where(asked))
    if running and not cascade:
        raise Conflict(
            f"{running} sessions ask examples of this matrix. Send cascade=true to delete them too."
        )
    conn.execute(delete_from(sessions).where(asked))
    conn.execute(delete_from(selections).where(from_matrix))
    conn.execute(delete_from(jobs).where(of_matrix))
    conn.execute(delete_from(matrices).where(*ours))


def _header(matrix: Matrix, header: bytes, bounds: NDArray[np.float64]) -> dict[str, Any]:
    vectors = matrix.embeddings
    return {
        "revision": 1,
        "created_at": func.now(),
        "n_examples": len(matrix.examples),
        "examples": row_encoding.compress(orjson.dumps(matrix.examples)),
        "subtasks": list(matrix.subtasks),
        "strata": row_encoding.compress(matrix.strata.astype("<i4").tobytes()),
        "embeddings": None if vectors is None else row_encoding.compress(vectors.astype("<f4").tobytes()),
        "header_sha256": header,
        "bounds": row_encoding.compress(bounds.tobytes()),
    }


def _add_rows(
    conn: Connection, matrix_id: str, revision: int, rows: Sequence[row_encoding.PackedRow]
) -> None:
    driver: Any = conn.connection.driver_connection
    # COPY knows no row-level security, so it fills a table of the session's own.
    conn.execute(text(_INCOMING))
    with driver.cursor() as cursor, cursor.copy(_COPY) as copy:
        copy.set_types(_TYPES)
        for row in rows:
            fields = row.binary, row.scored, row.accuracy, row.sha256, row.scores, row.missing
            copy.write_row((UUID(matrix_id), row.model, revision, *fields, row.confidences, *row.account))
    conn.execute(text(_STORE))


def _add_revision(
    conn: Connection, matrix_id: str, revision: int, n: int, header: bytes, bounds: NDArray[np.float64]
) -> None:
    r = matrix_rows.c
    query = (
        select(r.model, r.sha256, r.binary, r.scored, r.confidences.isnot(None).label("sure"))
        .where(r.matrix_id == matrix_id, r.valid_to.is_(None))
        .order_by(r.model)
    )
    rows = conn.execute(query).all()
    conn.execute(
        insert(matrix_revisions).values(
            matrix_id=matrix_id,
            revision=revision,
            n_models=len(rows),
            binary=all(row.binary for row in rows),
            missing_cells=sum(n - row.scored for row in rows),
            constant_examples=int((bounds[0] >= bounds[1]).sum()),
            has_confidences=all(row.sure for row in rows),
            content_hash=row_encoding.content_hash(header, [(row.model, row.sha256) for row in rows]),
            created_at=func.now(),
        )
    )


def _bounds(conn: Connection, matrix_id: str, revision: int, n: int) -> NDArray[np.float64]:
    """Bounds over all current rows, read in batches to need memory for a few rows only."""
    found = row_encoding.unbounded(n)
    driver: Any = conn.connection.driver_connection
    query = 'SELECT "binary", scores, missing FROM matrix_rows WHERE matrix_id = %s AND valid_to IS NULL'
    with driver.cursor("bounds", binary=True) as cursor:
        cursor.itersize = 64
        cursor.execute(query, (matrix_id,))
        for binary, scores, missing in cursor:
            values, absent = (
                row_encoding.scores_of([(binary, scores)], n),
                row_encoding.missing_of([missing], n),
            )
            found = row_encoding.merge_bounds(found, row_encoding.bounds_of(values, absent))
    return found


def _rows(
    conn: Connection, record: MatrixRecord, models: Sequence[str] | None, more: str
) -> list[tuple[Any, ...]]:
    """Packed rows in binary format, because as text, bytea would be sent and parsed as hex."""
    driver: Any = conn.connection.driver_connection
    query = (
        f'SELECT model, "binary", scores, missing, {more} FROM matrix_rows WHERE matrix_id = %s'  # noqa: S608
        " AND valid_from <= %s AND (valid_to IS NULL OR valid_to > %s)"
    )
    values: list[Any] = [record.id, record.revision, record.revision]
    if models is not None:
        query, values = query + " AND model = ANY(%s)", [*values, list(models)]
    with driver.cursor(binary=True) as cursor:
        rows: list[tuple[Any, ...]] = cursor.execute(query + " ORDER BY model", values).fetchall()
    if models is not None and len(rows) < len(set(models)):
        unknown = sorted(set(models) - {row[0] for row in rows})
        raise NotFound(f"Matrix {record.id} has no model {unknown[0]!r} in revision {record.revision}.")
    return rows


def _records(revision: ColumnElement[int] | int) -> Select[Any]:
    m, r = matrices.c, matrix_revisions.c
    join = matrices.join(matrix_revisions, and_(r.matrix_id == m.id, r.revision == revision))
    # Embeddings are not read; only their presence is.
    return select(
        m.id, m.name, m.n_examples, m.subtasks, m.embeddings.isnot(None).label("has_embeddings"),
        r.revision, r.n_models, r.binary, r.missing_cells, r.constant_examples, r.has_confidences,
        r.content_hash, r.created_at,
    ).select_from(join)  # fmt: skip


def _record(row: Row[Any]) -> MatrixRecord:
    return MatrixRecord(**{**row._mapping, "subtasks": tuple(row.subtasks)})


def valid_at(record: MatrixRecord) -> ColumnElement[bool]:
    """Rows of a revision."""
    r = matrix_rows.c
    ends = or_(r.valid_to.is_(None), r.valid_to > record.revision)
    return and_(r.matrix_id == record.id, r.valid_from <= record.revision, ends)


def _strata(packed: bytes | None) -> NDArray[np.int32]:
    return np.frombuffer(row_encoding.decompress(packed or b""), "<i4").astype(np.int32)
