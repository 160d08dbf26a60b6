"""What is known of a matrix's models beside their results; the same in every revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from service.store.records import ModelFacts
from service.store.tables import model_facts


def put(conn: Connection, matrix_id: str, facts: Mapping[str, ModelFacts]) -> None:
    """Set what is known of these models; the matrix is the caller's own."""
    if not facts:
        return
    rows = [
        {
            "matrix_id": matrix_id,
            "model": model,
            "family": known.family,
            "released": known.released,
            "tags": list(known.tags),
        }
        for model, known in facts.items()
    ]
    asked = insert(model_facts)
    changed = {name: asked.excluded[name] for name in ("family", "released", "tags")}
    conn.execute(asked.on_conflict_do_update(index_elements=["matrix_id", "model"], set_=changed), rows)


def of(conn: Connection, matrix_id: str, models: Sequence[str] | None = None) -> dict[str, ModelFacts]:
    """What is known of a matrix's models, or of some; models without an entry are left out."""
    f = model_facts.c
    query = select(f.model, f.family, f.released, f.tags).where(f.matrix_id == matrix_id)
    if models is not None:
        query = query.where(f.model.in_(models))
    return {row.model: ModelFacts(row.family, row.released, tuple(row.tags)) for row in conn.execute(query)}
