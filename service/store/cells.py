"""One model's cells: scores, and the state of examples without a score."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, RowMapping, select

from service.core.errors import NotFound
from service.store import cursors, matrices, row_encoding
from service.store.records import CellRecord, CellState, Page
from service.store.tables import matrix_rows

_STATES: tuple[CellState, ...] = ("scored", "errored", "unscored", "not_run")


def page(
    conn: Connection, matrix_id: str, model: str, revision: int | None, cursor: str | None, limit: int
) -> Page[CellRecord]:
    """A model's cells in a revision, by example.

    Raises
    ------
    NotFound
        No such matrix, revision or model.
    """
    record = matrices.get(conn, matrix_id, revision)
    r = matrix_rows.c
    columns = r.binary, r.scores, r.missing, r.answers, r.states, r.repeats
    found = conn.execute(select(*columns).where(matrices.valid_at(record), r.model == model))
    row = found.mappings().one_or_none()
    if row is None:
        raise NotFound(f"Matrix {record.id} has no model {model!r} in revision {record.revision}.")
    examples = matrices.examples(conn, record.id)
    start = 0 if cursor is None else bisect_right(examples, cursors.decode(cursor))
    here = slice(start, start + limit + 1)
    scores, missing, states, repeats = _unpacked(row, record.n_examples)
    items = [
        CellRecord(
            example=example,
            score=None if absent else float(score),
            state="missing" if absent and state == 0 else _STATES[state],
            answers=None if answers < 0 else int(answers),
        )
        for example, score, absent, state, answers in zip(
            examples[here], scores[here], missing[here], states[here], repeats[here], strict=True
        )
    ]
    return cursors.page(items, [cell.example for cell in items], limit)


def _unpacked(row: RowMapping, n: int) -> tuple[NDArray[Any], ...]:
    """Scores, missing cells, states and numbers of answers, each of shape (n,); −1 if the number is
    unknown.
    """
    scores = row_encoding.scores_of([(row["binary"], row["scores"])], n)[0]
    absent = row_encoding.missing_of([row["missing"]], n)
    missing = np.zeros(n, dtype=bool) if absent is None else absent[0]
    states = np.zeros(n, dtype=np.uint8)
    if row["states"] is not None:
        states = np.frombuffer(row_encoding.decompress(row["states"]), np.uint8)
    if row["repeats"] is not None:
        repeats = np.frombuffer(row_encoding.decompress(row["repeats"]), "<u2").astype(np.int64)
    else:
        repeats = np.where(missing | (states != 0), 0, 1) if row["answers"] is not None else np.full(n, -1)
    return scores, missing, states, repeats
