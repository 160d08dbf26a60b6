"""Exports of selections to other tools."""

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


def available_exports(selection: ExportedSelection) -> list[ExportView]:
    """The available formats: general ones, and the one of the tool that ran the examples."""
    fitting = (form for form in FORMATS.values() if form.name not in TOOLS or form.name == selection.tool)
    return [_export_view(form, selection) for form in fitting]


def _export_view(form: ExportFormat, selection: ExportedSelection) -> ExportView:
    name, href = form.filename(selection), f"/selections/{selection.id}/export?format={form.name}"
    try:
        command = form.command(selection)
    except ExportError as cannot:
        return ExportView(format=form.name, href=None, filename=None, command=None, reason=f"{cannot}.")
    return ExportView(format=form.name, href=href, filename=name, command=command, reason=None)


def response(form: ExportFormat, selection: ExportedSelection, etag: str) -> Response:
    """The response with the exported file.

    Raises
    ------
    InvalidRequest
        This selection cannot be exported in this format.
    """
    try:
        text = form.write(selection)
    except ExportError as cannot:
        raise InvalidRequest(
            f"{cannot}.", [FieldError("query/format", "no_such_export", f"{cannot}.")]
        ) from None
    headers = {
        "ETag": f'"{etag}"',
        "Content-Disposition": f'attachment; filename="{form.filename(selection)}"',
        "Link": f'</selections/{selection.id}>; rel="describedby"',
    }
    return Response(text, media_type=form.media_type, headers=headers)
