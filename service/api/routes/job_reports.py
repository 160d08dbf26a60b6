"""The report of a job: a page for people, with its figures and tables as files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import HTMLResponse

from service.api import etags
from service.api.context import AppContext, ContextDep
from service.api.route_classes import StrictRoute
from service.api.routes import selection_exports
from service.api.routes.jobs import JobId
from service.core.errors import FieldError, NotFound
from service.core.spreadsheet_csv import to_csv
from service.export import TOOLS, ExportedSelection, exported_selection
from service.report import figures, job_page, tables, templates_env
from service.report.theme import Theme
from service.schemas.problems import refusals
from service.usecases.job_report import JobReport, finished_report, job_report

router = APIRouter(prefix="/jobs/{job_id}/report", tags=["reports"], route_class=StrictRoute)

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "You have this version already"}}
PNG: dict[str, Any] = {"image/png": {"schema": {"type": "string", "format": "binary"}}}
SVG: dict[str, Any] = {"image/svg+xml": {"schema": {"type": "string"}}}
CSV: dict[str, Any] = {"text/csv": {"schema": {"type": "string"}, "example": "model,score\nllama,0.625\n"}}

ThemeName = Annotated[Theme, Query(description="Colours for a light or a dark background.")]
FigureName = Annotated[
    str, Path(description=f"One of {', '.join(figures.NAMES)}; not every job has all of them.")
]
TableName = Annotated[str, Path(description=f"One of {', '.join(tables.TABLES)}.")]


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
    """The job as a page: its progress while it runs, then its result in words, figures and tables."""
    with context.engine.begin() as conn:
        data = job_report(conn, job_id)
        runs = () if data.selection is None else _runs(exported_selection(conn, data.selection))
    base_url = str(request.base_url)

    def render() -> str:
        return job_page.job_page(data.job, data.matrix, data.result, data.scores, base_url, runs)

    if data.result is None:
        return HTMLResponse(render(), headers={**templates_env.PAGE_HEADERS, "Cache-Control": "no-store"})
    etag = _etag(data, "page", data.matrix.name, base_url, *(str(run) for run in runs))
    return _cached(request, etag, templates_env.PAGE_HEADERS, "text/html", render)


@router.get(
    "/figures/{name}.svg",
    response_class=Response,
    responses={200: {"content": SVG}, **NOT_MODIFIED, **refusals(404, 409)},
)
def get_figure_svg(
    job_id: JobId, name: FigureName, request: Request, context: ContextDep, theme: ThemeName = "light"
) -> Response:
    """A figure of a report as SVG."""
    data = _finished(context, job_id)
    headers = templates_env.figure_headers(theme)
    return _cached(
        request,
        _etag(data, "svg", name, theme),
        headers,
        "image/svg+xml",
        lambda: str(_figure(data, name).svg(theme)),
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
    data = _finished(context, job_id)
    return _cached(
        request, _etag(data, "png", name, theme), {}, "image/png", lambda: _png(_figure(data, name), theme)
    )


@router.get(
    "/tables/{name}.csv",
    response_class=Response,
    responses={200: {"content": CSV}, **NOT_MODIFIED, **refusals(404, 409)},
)
def get_table(job_id: JobId, name: TableName, request: Request, context: ContextDep) -> Response:
    """A table of a report as CSV; fractions, as everywhere in the API."""
    data = _finished(context, job_id)
    headers = {"Content-Disposition": f'attachment; filename="{data.job.id}-{name}.csv"'}
    return _cached(request, _etag(data, "csv", name), headers, "text/csv", lambda: _table(data, name))


def _runs(selection: ExportedSelection) -> tuple[job_page.Run, ...]:
    """How the tools that know the examples run the chosen ones only."""
    return tuple(
        job_page.Run(offer.href, offer.filename, offer.command, offer.reason)
        for offer in selection_exports.available_exports(selection)
        if offer.format in TOOLS
    )


def _finished(context: AppContext, job_id: str) -> JobReport:
    with context.engine.begin() as conn:
        return finished_report(conn, job_id)


def _etag(data: JobReport, *what: str) -> str:
    """The entity tag of one rendering of the result by this version."""
    parts = (data.result or b"", *(part.encode() for part in (version("tastetest"), *what)))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _figure(data: JobReport, name: str) -> figures.Figure:
    drawn = figures.figures(_mdad(data), job_page.known(data.scores))
    if name not in drawn:
        raise _unknown(data, "figure", name, drawn)
    return drawn[name]


def _png(figure: figures.Figure, theme: Theme) -> bytes:
    try:
        return figure.png(theme)
    except ModuleNotFoundError as error:
        detail = (
            f"This installation cannot draw PNG files, because {error.name} is not installed. Request the "
            "same figure as SVG, with .svg instead of .png; or ask the operator to run `pip install "
            "'tastetest[figures]'`."
        )
        raise NotFound(detail, [FieldError("path/name", "not_installed", detail)]) from error


def _table(data: JobReport, name: str) -> str:
    result = _mdad(data)
    if not result or name not in tables.TABLES:
        raise _unknown(data, "table", name, tables.TABLES if result else {})
    return to_csv(tables.TABLES[name](result, data.scores))


def _mdad(data: JobReport) -> dict[str, Any]:
    """The result of a reliability job; empty for other jobs, which have no figures."""
    return orjson.loads(data.result or b"{}") if data.job.kind == "mdad" else {}


def _unknown(data: JobReport, what: str, name: str, known: Iterable[str]) -> NotFound:
    offered = ", ".join(known) or "none"
    detail = f"The report of job {data.job.id} has no {what} {name!r}; it has: {offered}."
    return NotFound(detail, [FieldError("path/name", "not_found", f"One of: {offered}.")])


def _cached(
    request: Request, etag: str, headers: dict[str, str], media_type: str, make: Callable[[], str | bytes]
) -> Response:
    if etags.is_current(request, etag):
        return etags.not_modified(etag)
    return Response(make(), media_type=media_type, headers={**headers, "ETag": f'"{etag}"'})
