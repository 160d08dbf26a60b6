"""Selections: list, read, export, delete; a selection never changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from service.api import etags, responses
from service.api.context import ContextDep
from service.api.parameters import Cursor, Limit, OfMatrix
from service.api.route_classes import StrictRoute
from service.api.routes import selection_exports
from service.export import FORMATS, exported_selection
from service.schemas.problems import refusals
from service.schemas.selections import SelectionDetail, SelectionPage
from service.store import selections

router = APIRouter(prefix="/selections", tags=["selections"], route_class=StrictRoute)

SelectionId = Annotated[str, Path(description="`selection_id` of a `/select` job's result.")]


@router.get("", responses=refusals(404))
def list_selections(
    context: ContextDep, matrix_id: OfMatrix = None, cursor: Cursor = None, limit: Limit = 50
) -> SelectionPage:
    """All selections, in the order of their ids."""
    with context.engine.begin() as conn:
        return responses.selection_page(selections.page(conn, cursor, limit, matrix_id=matrix_id))


@router.get(
    "/{selection_id}", response_model=SelectionDetail, responses={**etags.NOT_MODIFIED, **refusals(404)}
)
def get_selection(
    selection_id: SelectionId, request: Request, response: Response, context: ContextDep
) -> SelectionDetail | Response:
    """A chosen micro-benchmark, and how to run it."""
    with context.engine.begin() as conn:
        record = selections.get(conn, selection_id)
        selection = exported_selection(conn, record)
    # The tool's ids are added to a matrix at most once, so the tag need not include them in full.
    etag = record.content_hash + (f".{selection.tool}" if selection.tool else "")
    if etags.is_current(request, etag):
        return etags.not_modified(etag)
    response.headers["ETag"] = f'"{etag}"'
    return SelectionDetail(
        **dict(responses.selection_view(record)), exports=selection_exports.available_exports(selection)
    )


@router.delete("/{selection_id}", status_code=204, response_class=Response, responses=refusals(404))
def delete_selection(selection_id: SelectionId, context: ContextDep) -> None:
    """Delete a selection; the same request to `/select` makes it again, under the same id."""
    with context.engine.begin() as conn:
        selections.delete(conn, selection_id)


@router.get(
    "/{selection_id}/export",
    response_class=Response,
    description=selection_exports.DESCRIPTION,
    responses={200: {"content": selection_exports.CONTENT}, **etags.NOT_MODIFIED, **refusals(404)},
)
def export_selection(
    selection_id: SelectionId,
    request: Request,
    context: ContextDep,
    format: Annotated[selection_exports.Name, Query(description="The format of the file.")] = "ids",
) -> Response:
    """The chosen examples as a file for another tool."""
    with context.engine.begin() as conn:
        record = selections.get(conn, selection_id)
        selection, form = exported_selection(conn, record), FORMATS[format]
    etag = f"{record.content_hash}.{format}.{selection.tool}"
    if etags.is_current(request, etag):
        return etags.not_modified(etag)
    return selection_exports.response(form, selection, etag)
