"""Pages for people: the home page, a matrix, and their script."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from service.api import etags
from service.api.context import ContextDep
from service.api.parameters import Cursor
from service.api.route_classes import StrictRoute
from service.api.routes.matrices import MatrixId, Revision
from service.engine.selection.registry import METHODS
from service.report import job_page, matrix_page, templates_env
from service.schemas.problems import refusals
from service.store import jobs, matrices
from service.usecases.job_report import MOST_MODELS

router = APIRouter(tags=["reports"], route_class=StrictRoute)

RECENT = 20
PAGE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}


@router.get("/", response_class=HTMLResponse, responses={**PAGE, **refusals()})
def get_home(
    request: Request, context: ContextDep, matrices_after: Cursor = None, jobs_after: Cursor = None
) -> Response:
    """Matrices, recent jobs, and forms that use the API; the cursors lead to older ones."""
    with context.engine.begin() as conn:
        known = matrices.page(conn, matrices_after, RECENT)
        recent = jobs.page(conn, jobs_after, RECENT)
        names = {matrix.id: matrix.name for matrix in known.items}
        for job in recent.items:
            if job.matrix_id not in names:
                names[job.matrix_id] = matrices.get(conn, job.matrix_id).name
    made = job_page.home_page(
        known.items,
        recent.items,
        METHODS,
        str(request.base_url),
        names=names,
        older={
            "matrices": _older("matrices", known.next_cursor, jobs_after=jobs_after),
            "jobs": _older("jobs", recent.next_cursor, matrices_after=matrices_after),
        },
    )
    return HTMLResponse(made, headers={**templates_env.PAGE_HEADERS, "Cache-Control": "no-store"})


def _older(what: str, cursor: str | None, **others: str | None) -> str | None:
    """The address of the next items of one list, with the other list unchanged; None if there are none."""
    if cursor is None:
        return None
    kept = {name: value for name, value in others.items() if value is not None}
    return f"/?{urlencode({f'{what}_after': cursor, **kept})}#{what}"


@router.get(
    "/matrices/{matrix_id}/page",
    response_class=HTMLResponse,
    responses={**PAGE, 304: {"description": "You have this version already"}, **refusals(404)},
)
def get_matrix_page(
    matrix_id: MatrixId, request: Request, context: ContextDep, revision: Revision = None
) -> Response:
    """A matrix as a page: scores with intervals, difficulty, subtasks, and possible errors in the data."""
    with context.engine.begin() as conn:
        record = matrices.get(conn, matrix_id, revision)
        models = matrices.models(conn, record.id, record.revision, None, MOST_MODELS).items
        cells = matrices.load(conn, record.id, record.revision)
    made = matrix_page.matrix_page(record, models, cells)
    etag = hashlib.sha256(made.encode()).hexdigest()
    if etags.is_current(request, etag):
        return etags.not_modified(etag)
    return HTMLResponse(made, headers={**templates_env.PAGE_HEADERS, "ETag": f'"{etag}"'})


@router.get("/static/app.js", include_in_schema=False)
def script(request: Request) -> Response:
    """The pages' script."""
    text, etag = _script()
    if etags.is_current(request, etag):
        return etags.not_modified(etag)
    headers = {"ETag": f'"{etag}"', "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return Response(text, media_type="text/javascript", headers=headers)


@cache
def _script() -> tuple[str, str]:
    text = (templates_env.STATIC / "app.js").read_text()
    return text, hashlib.sha256(text.encode()).hexdigest()
