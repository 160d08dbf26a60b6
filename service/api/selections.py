"""Selections: read and export; they never change."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from service.api import caching, views
from service.api.house import HouseDep
from service.api.pages import Cursor, Limit, OfMatrix
from service.api.route import StrictRoute
from service.schemas.problems import refusals
from service.schemas.selections import SelectionPage, SelectionView
from service.store import selections
from service.store.records import SelectionRecord

router = APIRouter(prefix="/selections", tags=["selections"], route_class=StrictRoute)

SelectionId = Annotated[str, Path(description="`selection_id` of a `/select` job's result.")]


@router.get("", responses=refusals(404))
def list_selections(
    house: HouseDep, matrix_id: OfMatrix = None, cursor: Cursor = None, limit: Limit = 50
) -> SelectionPage:
    """All selections, in the order of their ids."""
    with house.engine.begin() as conn:
        return views.selection_page(selections.page(conn, cursor, limit, matrix_id=matrix_id))


@router.get(
    "/{selection_id}", response_model=SelectionView, responses={**caching.NOT_MODIFIED, **refusals(404)}
)
def get_selection(
    selection_id: SelectionId, request: Request, response: Response, house: HouseDep
) -> SelectionView | Response:
    """A chosen micro-benchmark."""
    with house.engine.begin() as conn:
        record = selections.get(conn, selection_id)
    if caching.fresh(request, record.content_hash):
        return caching.not_modified(record.content_hash)
    response.headers["ETag"] = f'"{record.content_hash}"'
    return views.selection_view(record)


@router.delete("/{selection_id}", status_code=204, response_class=Response, responses=refusals(404))
def delete_selection(selection_id: SelectionId, house: HouseDep) -> None:
    """Delete a selection; the same request to `/select` makes it again, under the same id."""
    with house.engine.begin() as conn:
        selections.delete(conn, selection_id)


@router.get(
    "/{selection_id}/export",
    response_class=Response,
    responses={
        200: {
            "content": {
                "text/plain": {"schema": {"type": "string"}, "example": "q17\nq42\n"},
                "text/csv": {"schema": {"type": "string"}, "example": "id,weight,subtask\nq17,0.5,algebra\n"},
            }
        },
        **caching.NOT_MODIFIED,
        **refusals(404),
    },
)
def export_selection(
    selection_id: SelectionId,
    request: Request,
    house: HouseDep,
    format: Annotated[Literal["ids", "csv"], Query(description="One id a line, or with weights.")] = "ids",
) -> Response:
    """The chosen examples as a file for other tools."""
    with house.engine.begin() as conn:
        record = selections.get(conn, selection_id)
    etag = f"{record.content_hash}.{format}"
    if caching.fresh(request, etag):
        return caching.not_modified(etag)
    write, media_type, ending = EXPORTS[format]
    headers = {"ETag": f'"{etag}"', "Content-Disposition": f'attachment; filename="{record.id}.{ending}"'}
    return Response(write(record), media_type=media_type, headers=headers)


def _ids(record: SelectionRecord) -> str:
    return "".join(f"{example['id']}\n" for example in record.body["examples"])


def _csv(record: SelectionRecord) -> str:
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("id", "weight", "subtask"))
    table.writerows((e["id"], repr(e["weight"]), e["subtask"]) for e in record.body["examples"])
    return file.getvalue()


EXPORTS = {"ids": (_ids, "text/plain", "txt"), "csv": (_csv, "text/csv", "csv")}
