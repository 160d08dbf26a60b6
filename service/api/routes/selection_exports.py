"""Exports of selections to other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fastapi import Response

from service.core.errors import FieldError, InvalidRequest
from service.export import FORMATS, TOOLS, ExportedSelection, ExportError, ExportFormat
from service.schemas.selections import ExportView

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(FORMATS)]

_FORMATS = " ".join(f"`{form.name}`: {form.about}." for form in FORMATS.values())
DESCRIPTION = f"""The chosen examples as a file; `GET /selections/{{id}}` has the command that takes it.

{_FORMATS} Those with a command need a matrix that was read from logs of that tool.
"""

_SCHEMAS = {"application/json": {"type": "object", "additionalProperties": True}}
CONTENT: dict[str, dict[str, Any]] = {
    form.media_type: {"schema": _SCHEMAS.get(form.media_type, {"type": "string"})}
    for form in FORMATS.values()
}


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
