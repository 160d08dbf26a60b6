"""The report of a job: a page for people, its figures and its tables as files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from service.api import etags
from service.api.context import AppContext, ContextDep
from service.api.route_classes import StrictRoute
from service.api.routes import selection_exports
from service.api.routes.jobs import JobId
from service.core.errors import FieldError, NotFound
from service.core.spreadsheet_csv import to_csv
from service.export import TOOLS
from service.report import figures, job_page, tables, templates_env
from service.report.theme import Theme
from service.schemas.problems import refusals
from service.store import jobs, matrices, selections
from service.store.records import JobRecord, MatrixRecord

router = APIRouter(prefix="/jobs/{job_id}/report", tags=["reports"], route_class=StrictRoute)

MOST_MODELS = 1_000_000
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "You have this version already"}}
PNG: dict[str, Any] = {"image/png": {"schema": {"type": "string", "format": "binary"}}}
SVG: dict[str, Any] = {"image/svg+xml": {"schema": {"type": "string"}}}
CSV: dict[str, Any] = {"text/csv": {"schema": {"type": "string"}, "example": "model,score\nllama,0.625\n"}}

ThemeName = Annotated[Theme, Query(description="Colours for a light or a dark background.")]
FigureName = Annotated[str, Path(description=f"One of {', '.join(figures.NAMES)}; not every job has all.")]
TableName = Annotated[str, Path(description=f"One of {', '.join(tables.TABLES)}.")]


@dataclass(frozen=True, slots=True)
class Basis:
    """What a report is made from; `result` is None until the job has succeeded."""

    job: JobRecord
    matrix: MatrixRecord
    result: bytes | None
    scores: dict[str, float | None]
    runs: tuple[job_page.Run, ...] = ()

    def etag(self, *what: str) -> str:
        """Of one rendering of the result by this version."""
        parts = (self.result or b"", *(part.encode() for part in (version("tastetest"), *what)))
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


@router.get(
    "",
    response_class=HTMLResponse,
    responses={
        200: {"content": {"text/html": {"schema": {"type": "string"}}}},
        **NOT_MODIFIED,
        **refusals(404),
    },
)
def get_report(job_id: JobId, request: Request, context: ContextDep) -> Response:
    """The job as a page: its progress while it runs, then what it found, in words, figures and tables."""
    with context.engine.begin() as conn:
        basis = _basis(conn, job_id)
    base_url = str(request.base_url)

    def made() -> str:
        return job_page.job_page(basis.job, basis.matrix, basis.result, basis.scores, base_url, basis.runs)

    if basis.result is None:
        return HTMLResponse(made(), headers={**templates_env.PAGE_HEADERS, "Cache-Control": "no-store"})
    etag = basis.etag("page", basis.matrix.name, base_url, *(str(run) for run in basis.runs))
    return _cached(request, etag, templates_env.PAGE_HEADERS, "text/html", made)


@router.get(
    "/figures/{name}.svg",
    response_class=Response,
    responses={200: {"content": SVG}, **NOT_MODIFIED, **refusals(404, 409)},
)
def get_figure_svg(
    job_id: JobId, name: FigureName, request: Request, context: ContextDep, theme: ThemeName = "light"
) -> Response:
    """A figure of a report as SVG."""
    basis = _finished(context, job_id)
    headers = templates_env.figure_headers(theme)
    return _cached(
        request,
        basis.etag("svg", name, theme),
        headers,
        "image/svg+xml",
        lambda: str(_figure(basis, name).svg(theme)),
    )


@router.get(
    "/figures/{name}.png",
    response_class=Response,
    responses={200: {"content": PNG}, **NOT_MODIFIED, **refusals(404, 409)},
)
def get_figure_png(
    job_id: JobId, name: FigureName, request: Request, context: ContextDep, theme: ThemeName = "light"
) -> Response:
    """A figure of a report as PNG, for slides and documents."""
    basis = _finished(context, job_id)
    return _cached(
        request, basis.etag("png", name, theme), {}, "image/png", lambda: _png(_figure(basis, name), theme)
    )


@router.get(
    "/tables/{name}.csv",
    response_class=Response,
    responses={200: {"content": CSV}, **NOT_MODIFIED, **refusals(404, 409)},
)
def get_table(job_id: JobId, name: TableName, request: Request, context: ContextDep) -> Response:
    """A table of a report as CSV; fractions, as everywhere in the API."""
    basis = _finished(context, job_id)
    headers = {"Content-Disposition": f'attachment; filename="{basis.job.id}-{name}.csv"'}
    return _cached(request, basis.etag("csv", name), headers, "text/csv", lambda: _table(basis, name))


def _basis(conn: Connection, job_id: str) -> Basis:
    job = jobs.get(conn, job_id)
    matrix = matrices.get(conn, job.matrix_id, job.revision)
    if job.status != "succeeded":
        return Basis(job, matrix, None, {})
    models = matrices.models(conn, matrix.id, matrix.revision, None, MOST_MODELS).items
    result = jobs.result(conn, job.id)
    runs = _runs(conn, result) if job.kind == "select" else ()
    return Basis(job, matrix, result, {model.model: model.accuracy for model in models}, runs)


def _runs(conn: Connection, result: bytes) -> tuple[job_page.Run, ...]:
    try:
        selection = selections.get(conn, orjson.loads(result)["selection_id"])
    except NotFound:
        # Selections may be kept for less time than jobs.
        return ()
    return tuple(
        job_page.Run(offer.href, offer.filename, offer.command, offer.reason)
        for offer in selection_exports.offered(selection_exports.choice_of(conn, selection))
        if offer.format in TOOLS
    )


def _finished(context: AppContext, job_id: str) -> Basis:
    """Refuses a job without a result."""
    with context.engine.begin() as conn:
        basis = _basis(conn, job_id)
        if basis.result is None:
            jobs.result(conn, job_id)
    return basis


def _figure(basis: Basis, name: str) -> figures.Figure:
    drawn = figures.figures(_mdad(basis), job_page.known(basis.scores))
    if name not in drawn:
        raise _unknown(basis, "figure", name, drawn)
    return drawn[name]


def _png(figure: figures.Figure, theme: Theme) -> bytes:
    try:
        return figure.png(theme)
    except ModuleNotFoundError as error:
        detail = (
            f"This installation draws no PNG files ({error.name} is not installed: "
            "`pip install 'tastetest[figures]'`); the same figure as SVG ends in .svg instead of .png."
        )
        raise NotFound(detail, [FieldError("path/name", "not_installed", detail)]) from error


def _table(basis: Basis, name: str) -> str:
    result = _mdad(basis)
    if not result or name not in tables.TABLES:
        raise _unknown(basis, "table", name, tables.TABLES if result else {})
    return to_csv(tables.TABLES[name](result, basis.scores))


def _mdad(basis: Basis) -> dict[str, Any]:
    """The result of a reliability job; empty for others, which have no figures."""
    return orjson.loads(basis.result or b"{}") if basis.job.kind == "mdad" else {}


def _unknown(basis: Basis, what: str, name: str, known: Iterable[str]) -> NotFound:
    offered = ", ".join(known) or "none"
    detail = f"The report of job {basis.job.id} has no {what} {name!r}; it has: {offered}."
    return NotFound(detail, [FieldError("path/name", "not_found", f"One of: {offered}.")])


def _cached(
    request: Request, etag: str, headers: dict[str, str], media_type: str, make: Callable[[], str | bytes]
) -> Response:
    if etags.fresh(request, etag):
        return etags.not_modified(etag)
    return Response(make(), media_type=media_type, headers={**headers, "ETag": f'"{etag}"'})
