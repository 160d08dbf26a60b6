"""Comparisons that were kept: list, read, show, delete; a comparison never changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import HTMLResponse

from service.api import etags
from service.api.context import ContextDep
from service.api.parameters import Cursor, Limit, OfMatrix
from service.api.route_classes import StrictRoute
from service.report import comparison_page, templates_env
from service.schemas.problems import refusals
from service.schemas.verdicts import CompareView, ComparisonPage, StoredComparison
from service.store import comparisons, matrices
from service.store.records import ComparisonRecord

router = APIRouter(prefix="/comparisons", tags=["comparisons"], route_class=StrictRoute)

ComparisonId = Annotated[str, Path(description="`id` of an answer of `/compare`.")]


@router.get("", responses=refusals(404))
def list_comparisons(
    context: ContextDep, matrix_id: OfMatrix = None, cursor: Cursor = None, limit: Limit = 50
) -> ComparisonPage:
    """All comparisons that are kept, in the order of their ids."""
    with context.engine.begin() as conn:
        page = comparisons.page(conn, cursor, limit, matrix_id=matrix_id)
    return ComparisonPage(items=[_in_short(record) for record in page.items], next_cursor=page.next_cursor)


@router.get("/{comparison_id}", response_model=CompareView, responses={**etags.NOT_MODIFIED, **refusals(404)})
def get_comparison(
    comparison_id: ComparisonId, request: Request, response: Response, context: ContextDep
) -> CompareView | Response:
    """A comparison as `/compare` answered it."""
    with context.engine.begin() as conn:
        record = comparisons.get(conn, comparison_id)
    if etags.is_current(request, record.id):
        return etags.not_modified(record.id)
    response.headers["ETag"] = f'"{record.id}"'
    return kept(record.id, record.body)


@router.get(
    "/{comparison_id}/page",
    response_class=HTMLResponse,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}, **refusals(404)},
)
def get_comparison_page(comparison_id: ComparisonId, context: ContextDep) -> Response:
    """A comparison as a page: verdict, difference with its interval, what the gate can see, what changed."""
    with context.engine.begin() as conn:
        record = comparisons.get(conn, comparison_id)
        matrix = matrices.get(conn, record.matrix_id)
    made = comparison_page.comparison_page(
        kept(record.id, record.body).model_dump(), matrix.name, record.created_at
    )
    return HTMLResponse(made, headers={**templates_env.PAGE_HEADERS, "Cache-Control": "no-store"})


@router.delete("/{comparison_id}", status_code=204, response_class=Response, responses=refusals(404))
def delete_comparison(comparison_id: ComparisonId, context: ContextDep) -> None:
    """Delete a comparison; the same request to `/compare` makes it again, under the same id."""
    with context.engine.begin() as conn:
        comparisons.delete(conn, comparison_id)


def kept(comparison_id: str, body: bytes) -> CompareView:
    """The answer with its address."""
    view = CompareView.model_validate_json(body)
    return view.model_copy(update={"id": comparison_id, "page": f"/comparisons/{comparison_id}/page"})


def _in_short(record: ComparisonRecord) -> StoredComparison:
    view = kept(record.id, record.body)
    return StoredComparison(
        id=record.id,
        created_at=record.created_at,
        matrix=view.matrix,
        selection_id=view.selection_id,
        baseline=view.comparisons[0].baseline,
        candidates=[one.candidate for one in view.comparisons],
        verdict=view.verdict,
    )
