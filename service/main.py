"""Builds the application: routers, middleware, error handlers, and the resources of its lifetime."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.routing import APIRoute
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from threadpoolctl import threadpool_limits

from service.api import problems
from service.api.authenticator import Authenticator
from service.api.context import AppContext
from service.api.middleware.authentication import AuthenticationMiddleware
from service.api.middleware.http_methods import HttpMethodsMiddleware
from service.api.middleware.request_envelope import (
    UNLOGGED_PATHS,
    BodyLimitMiddleware,
    RequestEnvelopeMiddleware,
)
from service.api.middleware.response_headers import ResponseHeadersMiddleware
from service.api.openapi import document
from service.api.rate_limiter import RateLimiter
from service.api.route_classes import PublicRoute
from service.api.routes import (
    api_docs,
    compare,
    comparisons,
    drift,
    health,
    job_reports,
    jobs,
    matrices,
    mdad_and_select,
    metrics,
    pages,
    partial_results,
    power,
    scores,
    selections,
    sessions,
    webhooks,
)
from service.api.thread_pools import CHECK_THREADS, CheckPool, UploadSlots
from service.core import logging, tracing
from service.core.settings import Settings
from service.jobs.listener import Listener
from service.jobs.notifier import WorkerNotifier
from service.store import api_role
from service.store.database import make_engine
from service.usecases.evaluator_cache import EvaluatorCache
from service.usecases.session_cache import SessionCache

# In the order of the OpenAPI document.
RESOURCES = (
    matrices,
    mdad_and_select,
    jobs,
    partial_results,
    selections,
    scores,
    drift,
    compare,
    comparisons,
    power,
    sessions,
    webhooks,
    job_reports,
    pages,
    api_docs,
    health,
    metrics,
)

log = structlog.get_logger(__name__)


CORS: dict[str, Any] = {
    "allow_methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": ["Authorization", "Content-Type", "Idempotency-Key", "If-None-Match"],
    "expose_headers": ["ETag", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"],
}


def create_app(settings: Settings) -> FastAPI:
    """Build the application; it first connects to the database when it starts.

    Parameters
    ----------
    settings : Settings
        With `database_url`, unless only the OpenAPI document is needed.
    """
    app = FastAPI(
        title="Tastetest",
        version=version("tastetest"),
        summary="How small can your benchmark be, and which comparisons can you still trust?",
        description=document.DESCRIPTION,
        openapi_tags=document.TAGS,
        lifespan=_lifespan(settings),
        generate_unique_id_function=_function_name,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        telemetry={
            "tracing": tracing.is_enabled(),
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
            "exclude": lambda scope: scope["path"] in UNLOGGED_PATHS,
        },
    )
    for resource in RESOURCES:
        app.include_router(resource.router)
    app.add_middleware(BodyLimitMiddleware, limit=settings.max_body_bytes, seconds=settings.body_seconds)
    app.add_middleware(AuthenticationMiddleware, public=_public_paths(app.openapi_url))
    app.add_middleware(HttpMethodsMiddleware)
    if settings.cors_origins:
        app.add_middleware(CORSMiddleware, allow_origins=settings.allowed_origins, **CORS)
    app.add_middleware(ResponseHeadersMiddleware)
    app.add_middleware(RequestEnvelopeMiddleware)
    problems.install(app)
    document.install(app)
    return app


def _lifespan(settings: Settings) -> Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        logging.configure()
        tracing.configure("api")
        everywhere = make_engine(settings.database_url, pool_size=2, application="tastetest-api")
        callers = make_engine(
            settings.api_database_url or settings.database_url,
            pool_size=settings.database_pool,
            application="tastetest-api",
        )
        await run_in_threadpool(_tell_of_row_security, callers)
        context = AppContext(
            settings,
            everywhere,
            callers,
            Listener(settings.database_url),
            WorkerNotifier(settings.redis_url),
            EvaluatorCache(),
            SessionCache(),
            Authenticator(settings),
            RateLimiter(settings),
            CheckPool(
                make_engine(settings.database_url, pool_size=CHECK_THREADS, application="tastetest-checks")
            ),
            UploadSlots(settings),
        )
        app.state.context = context
        try:
            # BLAS threads spin while they wait and take cores from workers and other requests.
            with threadpool_limits(1):
                async with context.listener.running():
                    yield
        finally:
            context.callers.dispose()
            context.everywhere.dispose()
            context.checks.close()
            context.uploads.close()
            tracing.flush()

    return lifespan


def _tell_of_row_security(callers: Engine) -> None:
    """Say at the start when Postgres does not keep the workspaces apart itself."""
    with contextlib.suppress(SQLAlchemyError):
        if not api_role.is_enforced(callers):
            log.warning(
                "row-level security is not in force: TASTETEST_API_DATABASE_URL names no role of its own"
            )


def _public_paths(document: str | None) -> frozenset[str]:
    """Where no key is needed: the OpenAPI document, and the routes that say so."""
    routes = (route for resource in RESOURCES for route in resource.router.routes)
    declared = {route.path for route in routes if isinstance(route, PublicRoute)}
    return frozenset(declared if document is None else declared | {document})


def _function_name(route: APIRoute) -> str:
    return route.name
