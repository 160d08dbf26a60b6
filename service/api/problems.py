"""RFC 9457: every answer that is not a success is an application/problem+json document."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import iter_route_contexts
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.types import Scope

from service.api.validation_messages import faults_of
from service.core.errors import InvalidRequest, NoSpaceLeft, Problem, Unavailable
from service.schemas.problems import PROBLEM_TYPE

log = structlog.get_logger(__name__)

DISK_FULL = "53100"
DATABASE_AWAY = (OperationalError, PoolTimeout)
HOW_TO_FIX = {
    400: "The request is malformed at the level of HTTP; send it again as the documentation shows.",
    404: "There is no resource at this path; /openapi.json lists all paths.",
    405: "This path does not support this method; the Allow header lists the supported ones.",
}


class ProblemResponse(Response):
    """A problem document, with the request's id to find it in the log."""

    media_type = "application/problem+json"


def problem_response(
    scope: Scope,
    *,
    status: int,
    slug: str,
    title: str,
    detail: str,
    errors: Sequence[Mapping[str, str]] = (),
    headers: Iterable[tuple[str, str]] = (),
) -> ProblemResponse:
    """Build a problem response; `errors` holds the offending places."""
    document = {
        "type": PROBLEM_TYPE + slug,
        "title": title,
        "status": status,
        "detail": detail,
        "request_id": scope.get("state", {}).get("request_id", ""),
        "errors": list(errors),
    }
    # A refused name may hold half a surrogate pair, which can only be written as an escape.
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    response = ProblemResponse(body, status_code=status)
    for name, value in headers:
        # Appended, because browsers expect one header per challenge.
        response.headers.append(name, value)
    return response


def render(scope: Scope, problem: Problem) -> ProblemResponse:
    """The response to one of the service's own problems."""
    return problem_response(
        scope,
        status=problem.status,
        slug=problem.type,
        title=problem.title,
        detail=problem.detail,
        errors=[{"pointer": f.pointer, "code": f.code, "message": f.message} for f in problem.faults],
        headers=problem.headers or _again(problem),
    )


def _again(problem: Problem) -> list[tuple[str, str]]:
    return [("Retry-After", "5")] if problem.status == HTTPStatus.SERVICE_UNAVAILABLE else []


def crash_response(scope: Scope) -> ProblemResponse:
    """The response to a defect of the service: it reveals only the id to find it in the log."""
    return render(
        scope,
        Problem(
            "The service has a defect; your request is not the cause. Report the request_id to its operator."
        ),
    )


def install(app: FastAPI) -> None:
    """Install handlers so that every failed request is answered with a problem document."""
    app.exception_handler(Problem)(_problem)
    app.exception_handler(HTTPException)(_http)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(OSError)(_system)
    for away in DATABASE_AWAY:
        app.exception_handler(away)(_database)


async def _problem(request: Request, exc: Problem) -> Response:
    if request.method in ("GET", "DELETE"):
        # The code that raises it does not know that the field came as a query parameter.
        exc.faults = tuple(
            replace(f, pointer=f"query{f.pointer}") if f.pointer[:1] == "/" else f for f in exc.faults
        )
    return render(request.scope, exc)


async def _http(request: Request, exc: HTTPException) -> Response:
    """Starlette's own errors: no such path, no such method, a malformed body."""
    phrase = HTTPStatus(exc.status_code).phrase
    headers = dict(exc.headers or {})
    if exc.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_allowed(request))
    detail = exc.detail if exc.detail and exc.detail != phrase else ""
    return problem_response(
        request.scope,
        status=exc.status_code,
        slug=phrase.lower().replace(" ", "-"),
        title=phrase,
        detail=detail or HOW_TO_FIX.get(exc.status_code, phrase),
        headers=headers.items(),
    )


async def _invalid(request: Request, exc: RequestValidationError) -> Response:
    faults = faults_of(exc.errors(), exc.body)
    places = "; ".join(f"{f.pointer or 'body'}: {f.message}" for f in faults[:3])
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return render(request.scope, InvalidRequest(places + more, faults))


async def _system(request: Request, exc: OSError) -> Response:
    """Uploads are spooled to disk."""
    if exc.errno != errno.ENOSPC:
        raise exc
    log.error("no space left", error=repr(exc))
    return render(request.scope, NoSpaceLeft())


async def _database(request: Request, exc: SQLAlchemyError) -> Response:
    return database_unavailable(request.scope, exc)


def database_unavailable(scope: Scope, exc: SQLAlchemyError) -> ProblemResponse:
    """The response when the database does not answer, or cannot write."""
    if getattr(getattr(exc, "orig", None), "sqlstate", None) == DISK_FULL:
        log.error("no space left", error=str(exc).splitlines()[0])
        return render(scope, NoSpaceLeft())
    log.warning("database_unavailable", error=str(exc).splitlines()[0])
    return render(scope, Unavailable("The database does not answer; try again in a few seconds."))


def _allowed(request: Request) -> list[str]:
    """All methods of the routes at this path; Starlette names only those of the first route."""
    path = request.scope["path"]
    at_path = (route for route in iter_route_contexts(request.app.routes) if route.path_regex.match(path))
    return sorted({method for route in at_path for method in route.methods or ()})
