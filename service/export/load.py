"""A stored selection, with the tool's own names of its examples where its logs gave them."""

from __future__ import annotations

from sqlalchemy import Connection

from service.export.selection import Example, ExportedSelection
from service.store import matrices
from service.store.records import SelectionRecord


def exported_selection(conn: Connection, record: SelectionRecord) -> ExportedSelection:
    """The content of a selection's exports."""
    chosen = record.body["examples"]
    origin = matrices.origin(conn, record.matrix_id)
    if origin is None:
        examples = [Example(e["id"], e["weight"], e["subtask"]) for e in chosen]
        return ExportedSelection(record.id, record.content_hash, examples)
    native = list(zip(origin.tasks, origin.ids, strict=True))
    named = dict(zip(matrices.examples(conn, record.matrix_id), native, strict=True))
    benchmark: dict[str, list[str]] = {}
    for task, name in native:
        benchmark.setdefault(task, []).append(name)
    examples = [Example(e["id"], e["weight"], e["subtask"], *named[e["id"]]) for e in chosen]
    return ExportedSelection(record.id, record.content_hash, examples, origin.tool, benchmark)
