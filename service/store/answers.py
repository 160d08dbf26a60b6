"""Models' answers on a selection: one row per model, replaced when sent again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from service.store import row_encoding
from service.store.tables import answers

Row = NDArray[np.float64]


def keep(conn: Connection, selection_id: str, rows: Mapping[str, Row]) -> None:
    """Store one row per model, shape (n,), in the order of the selection's examples; NaN where missing."""
    values = [
        {
            "selection_id": selection_id,
            "model": model,
            "answers": row_encoding.compress(row.astype("<f8").tobytes()),
            "created_at": func.now(),
        }
        for model, row in rows.items()
    ]
    statement = insert(answers).values(values)
    changed = {name: statement.excluded[name] for name in ("answers", "created_at")}
    conn.execute(statement.on_conflict_do_update(index_elements=["selection_id", "model"], set_=changed))


def find(conn: Connection, selection_id: str, models: Sequence[str]) -> dict[str, Row]:
    """The stored rows of these models; models without one are left out."""
    query = select(answers.c.model, answers.c.answers).where(
        answers.c.selection_id == selection_id, answers.c.model.in_(models)
    )
    return {
        row.model: np.frombuffer(row_encoding.decompress(row.answers), "<f8").copy()
        for row in conn.execute(query)
    }


def models(conn: Connection, selection_id: str) -> list[str]:
    """Models with stored answers, by name."""
    query = select(answers.c.model).where(answers.c.selection_id == selection_id).order_by(answers.c.model)
    return list(conn.scalars(query))
