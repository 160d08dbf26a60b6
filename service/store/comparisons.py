"""Answers of `/compare` that are kept: immutable, with ids derived from their content."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sqlalchemy import Connection, Row, func, select
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects.postgresql import insert

from service.core.errors import NotFound
from service.store import cursors
from service.store.records import ComparisonRecord, Page
from service.store.tables import comparisons
from service.store.workspace_scope import mine, owner

_COLUMNS = [column for column in comparisons.c if column.name != "workspace"]


def add(conn: Connection, body: bytes, *, matrix_id: str, selection_id: str | None) -> str:
    """Keep an answer; the same answer is kept once, from its last request on.

    Returns
    -------
    str
        Its id.
    """
    digest = hashlib.sha256(owner(conn).encode() + b"\0" + body).hexdigest()
    row = {
        "id": str(uuid5(NAMESPACE_OID, digest)),
        "matrix_id": matrix_id,
        "selection_id": selection_id,
        "body": body,
        "created_at": func.now(),
        "workspace": owner(conn),
    }
    again = {"created_at": func.now()}
    conn.execute(insert(comparisons).values(row).on_conflict_do_update(index_elements=["id"], set_=again))
    return str(row["id"])


def get(conn: Connection, comparison_id: str) -> ComparisonRecord:
    """One comparison.

    Raises
    ------
    NotFound
        No such comparison.
    """
    known = comparisons.c.id == cursors.known_id(comparison_id, "comparison")
    row = conn.execute(select(*_COLUMNS).where(known, mine(conn, comparisons))).one_or_none()
    if row is None:
        raise NotFound(f"There is no comparison {comparison_id!r}.")
    return _record(row)


def page(
    conn: Connection, cursor: str | None, limit: int, *, matrix_id: str | None = None
) -> Page[ComparisonRecord]:
    """Comparisons by id, optionally those on one matrix."""
    query = select(*_COLUMNS).where(mine(conn, comparisons)).order_by(comparisons.c.id).limit(limit + 1)
    if cursor is not None:
        query = query.where(comparisons.c.id > cursors.decode_id(cursor))
    if matrix_id is not None:
        query = query.where(comparisons.c.matrix_id == cursors.known_id(matrix_id, "matrix"))
    found = [_record(row) for row in conn.execute(query)]
    return cursors.page(found, [comparison.id for comparison in found], limit)


def delete(conn: Connection, comparison_id: str) -> None:
    """Delete a comparison; the same request makes it again.

    Raises
    ------
    NotFound
        No such comparison.
    """
    record = get(conn, comparison_id)
    conn.execute(delete_from(comparisons).where(comparisons.c.id == record.id, mine(conn, comparisons)))


def _record(row: Row[Any]) -> ComparisonRecord:
    return ComparisonRecord(**row._mapping)
