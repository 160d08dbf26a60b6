"""Selections on their way to other tools."""

from __future__ import annotations

from typing import Literal

from fastapi import Response
from sqlalchemy import Connection

from service.core.errors import FieldError, InvalidRequest
from service.export import FORMATS, TOOLS, Example, ExportedSelection, ExportError, ExportFormat
from service.schemas.selections import ExportView
from service.store import matrices
from service.store.records import SelectionRecord

Name = Literal["ids", "csv", "json", "lm_eval", "inspect", "helm"]

CONTENT = {
    "text/plain": {"schema": {"type": "string"}, "example": "q17\nq42\n"},
    "text/csv": {"schema": {"type": "string"}, "example": "id,weight,subtask\nq17,0.5,algebra\n"},
    "application/json": {
        "schema": {"type": "object", "additionalProperties": True},
        "example": {"arc_easy": [17, 42]},
    },
}


def choice_of(conn: Connection, record: SelectionRecord) -> ExportedSelection:
    """What there is to export of a selection."""
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


def offered(choice: ExportedSelection) -> list[ExportView]:
    """The formats worth offering: those for anyone, and those of the tool that ran the examples."""
    fitting = (form for form in FORMATS.values() if form.name not in TOOLS or form.name == choice.tool)
    return [_offer(form, choice) for form in fitting]


def _offer(form: ExportFormat, choice: ExportedSelection) -> ExportView:
    name, href = form.filename(choice), f"/selections/{choice.id}/export?format={form.name}"
    try:
        command = form.command(choice)
    except ExportError as cannot:
        return ExportView(format=form.name, href=None, filename=None, command=None, reason=f"{cannot}.")
    return ExportView(format=form.name, href=href, filename=name, command=command, reason=None)


def response(form: ExportFormat, choice: ExportedSelection, etag: str) -> Response:
    """The file.

    Raises
    ------
    InvalidRequest
        This selection has no such export.
    """
    try:
        text = form.write(choice)
    except ExportError as cannot:
        raise InvalidRequest(
            f"{cannot}.", [FieldError("query/format", "no_such_export", f"{cannot}.")]
        ) from None
    headers = {
        "ETag": f'"{etag}"',
        "Content-Disposition": f'attachment; filename="{form.filename(choice)}"',
        "Link": f'</selections/{choice.id}>; rel="describedby"',
    }
    return Response(text, media_type=form.media_type, headers=headers)
