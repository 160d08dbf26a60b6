"""Selections: immutable, content-hashed, ids derived from the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, func, select, text
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects.postgresql import insert

from service.core.errors import NotFound
from service.store import cursors
from service.store.records import Page, SelectionRecord
from service.store.tables import matrices, selections
from service.store.workspace_scope import mine, workspace

_COLUMNS = [column for column in selections.c if column.name != "workspace"]

_DELETE_MAKER = text("""
DELETE FROM jobs WHERE jobs.workspace = coalesce(:workspace, jobs.workspace)
AND kind = 'select' AND status = 'succeeded'
AND matrix_id = :matrix AND revision = :revision
AND convert_from(result, 'UTF8')::jsonb ->> 'selection_id' = :id
""")


def add(
    conn: Connection,
    *,
    selection_id: str,
    matrix_id: str,
    revision: int,
    method: str,
    size: int,
    body: Mapping[str, Any],
    content_hash: str,
) -> None:
    """Store a selection in its matrix's workspace; an existing one with this id has the same content and
    stays.
    """
    home = select(matrices.c.workspace).where(matrices.c.id == matrix_id, mine(conn, matrices))
    row = {
        "id": selection_id,
        "matrix_id": matrix_id,
        "revision": revision,
        "method": method,
        "size": size,
        "body": dict(body),
        "content_hash": content_hash,
        "created_at": func.now(),
        "workspace": home.scalar_subquery(),
    }
    conn.execute(insert(selections).values(row).on_conflict_do_nothing(index_elements=["id"]))


def get(conn: Connection, selection_id: str) -> SelectionRecord:
    """One selection.

    Raises
    ------
    NotFound
        No such selection.
    """
    known = selections.c.id == cursors.known_id(selection_id, "selection")
    row = conn.execute(select(*_COLUMNS).where(known, mine(conn, selections))).one_or_none()
    if row is None:
        raise NotFound(f"There is no selection {selection_id!r}.")
    return _record(row)


def page(
    conn: Connection, cursor: str | None, limit: int, *, matrix_id: str | None = None
) -> Page[SelectionRecord]:
    """Selections by id, optionally those of one matrix."""
    query = select(*_COLUMNS).where(mine(conn, selections)).order_by(selections.c.id).limit(limit + 1)
    if cursor is not None:
        query = query.where(selections.c.id > cursors.decode_id(cursor))
    if matrix_id is not None:
        query = query.where(selections.c.matrix_id == cursors.known_id(matrix_id, "matrix"))
    found = [_record(row) for row in conn.execute(query)]
    return cursors.page(found, [selection.id for selection in found], limit)


def delete(conn: Connection, selection_id: str) -> None:
    """Delete a selection with the job that made it, so that the same request makes it again.

    Raises
    ------
    NotFound
        No such selection.
    """
    record = get(conn, selection_id)
    conn.execute(delete_from(selections).where(selections.c.id == record.id, mine(conn, selections)))
    made_by = {"id": record.id, "matrix": record.matrix_id, "revision": record.revision}
    conn.execute(_DELETE_MAKER, made_by | {"workspace": workspace(conn)})


def _record(row: Row[Any]) -> SelectionRecord:
    return SelectionRecord(**row._mapping)
