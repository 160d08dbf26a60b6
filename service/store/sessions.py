"""Sessions: the order in which they ask, their answers by place in it, and what each look found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Select, case, func, insert, select, update
from uuid6 import uuid7

from service.core.errors import NotFound
from service.store import cursors, row_encoding
from service.store.records import MatrixRecord, Page, SessionOrder, SessionRecord, SessionStatus
from service.store.tables import session_answers, sessions
from service.store.workspace_scope import mine, owner

_COLUMNS = [
    column
    for column in sessions.c
    if column.name not in ("workspace", "order", "sizes", "clusters", "status")
]


def add(
    conn: Connection,
    *,
    matrix: MatrixRecord,
    settings: Mapping[str, Any],
    engine_version: str,
    order: SessionOrder,
    handed_out: int,
) -> str:
    """Store a new session; its id."""
    session_id = str(uuid7())
    row = {
        "id": session_id,
        "matrix_id": matrix.id,
        "revision": matrix.revision,
        "status": "open",
        "settings": dict(settings),
        "engine_version": engine_version,
        "order": row_encoding.compress(order.examples.astype("<i4").tobytes()),
        "sizes": None if order.sizes is None else row_encoding.compress(order.sizes.astype("<f8").tobytes()),
        "clusters": None
        if order.clusters is None
        else row_encoding.compress(order.clusters.astype("<i4").tobytes()),
        "handed_out": handed_out,
        "looks": [],
        "created_at": func.now(),
        "updated_at": func.now(),
        "workspace": owner(conn),
    }
    conn.execute(insert(sessions).values(row))
    return session_id


def open_sessions(conn: Connection, idle: timedelta) -> int:
    """How many sessions of the workspace are open."""
    going = (sessions.c.status == "open") & (sessions.c.updated_at >= func.now() - idle)
    count = select(func.count()).select_from(sessions).where(mine(conn, sessions), going)
    return int(conn.scalar(count) or 0)


def get(conn: Connection, session_id: str, idle: timedelta) -> SessionRecord:
    """One session; one whose caller was silent for longer than `idle` has expired.

    Raises
    ------
    NotFound
        No such session.
    """
    known = sessions.c.id == cursors.known_id(session_id, "session")
    row = conn.execute(_records(idle).where(known, mine(conn, sessions))).one_or_none()
    if row is None:
        raise NotFound(f"There is no session {session_id!r}.")
    return _record(row)


def hold(conn: Connection, session_id: str, idle: timedelta) -> SessionRecord:
    """The same, locked until the transaction ends: callers change it one after another.

    Raises
    ------
    NotFound
        No such session.
    """
    ours = sessions.c.id == cursors.known_id(session_id, "session"), mine(conn, sessions)
    conn.execute(select(sessions.c.id).where(*ours).with_for_update())
    return get(conn, session_id, idle)


def page(
    conn: Connection, cursor: str | None, limit: int, idle: timedelta, *, matrix_id: str | None = None
) -> Page[SessionRecord]:
    """Sessions, newest first, optionally those on one matrix."""
    query = _records(idle).where(mine(conn, sessions)).order_by(sessions.c.id.desc()).limit(limit + 1)
    if cursor is not None:
        query = query.where(sessions.c.id < cursors.decode_id(cursor))
    if matrix_id is not None:
        query = query.where(sessions.c.matrix_id == cursors.known_id(matrix_id, "matrix"))
    found = [_record(row) for row in conn.execute(query)]
    return cursors.page(found, [session.id for session in found], limit)


def order(conn: Connection, session: SessionRecord) -> SessionOrder:
    """In which order it asks."""
    columns = sessions.c.order, sessions.c.sizes, sessions.c.clusters
    row = conn.execute(select(*columns).where(sessions.c.id == session.id, mine(conn, sessions))).one()
    return SessionOrder(
        examples=np.frombuffer(row_encoding.decompress(row.order), "<i4").astype(np.int64),
        sizes=None if row.sizes is None else np.frombuffer(row_encoding.decompress(row.sizes), "<f8"),
        clusters=None
        if row.clusters is None
        else np.frombuffer(row_encoding.decompress(row.clusters), "<i4").astype(np.int64),
    )


def answers(conn: Connection, session_id: str) -> dict[int, float]:
    """Score by place, NaN where an answer has none."""
    query = select(session_answers.c.place, session_answers.c.score)
    found = conn.execute(query.where(session_answers.c.session_id == session_id))
    return {place: np.nan if score is None else score for place, score in found}


def add_answers(conn: Connection, session_id: str, given: Mapping[int, float]) -> None:
    """Store answers to places without one; NaN where there is no score."""
    rows = [
        {"session_id": session_id, "place": place, "score": None if np.isnan(score) else score}
        for place, score in given.items()
    ]
    if rows:
        conn.execute(insert(session_answers), rows)


def change(
    conn: Connection,
    session_id: str,
    *,
    status: SessionStatus,
    handed_out: int,
    looks: Sequence[Mapping[str, Any]],
) -> None:
    """Write what changed while it was held."""
    values = {"status": status, "handed_out": handed_out, "looks": list(looks), "updated_at": func.now()}
    conn.execute(update(sessions).where(sessions.c.id == session_id, mine(conn, sessions)).values(values))


def delete(conn: Connection, session_id: str) -> None:
    """Delete a session with its answers.

    Raises
    ------
    NotFound
        No such session.
    """
    known = sessions.c.id == cursors.known_id(session_id, "session")
    if not conn.execute(sessions.delete().where(known, mine(conn, sessions))).rowcount:
        raise NotFound(f"There is no session {session_id!r}.")


def _records(idle: timedelta) -> Select[Any]:
    answered = (
        select(func.count())
        .select_from(session_answers)
        .where(session_answers.c.session_id == sessions.c.id)
        .scalar_subquery()
    )
    over: ColumnElement[bool] = (sessions.c.status == "open") & (sessions.c.updated_at < func.now() - idle)
    status = case((over, "expired"), else_=sessions.c.status).label("status")
    return select(*_COLUMNS, status, answered.label("answered"))


def _record(row: Row[Any]) -> SessionRecord:
    return SessionRecord(**{**row._mapping, "looks": tuple(row.looks)})
