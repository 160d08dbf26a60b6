"""Liveness and readiness probes, for orchestrators."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal

from fastapi import APIRouter

from service.api.context import ContextDep
from service.api.route_classes import PublicRoute
from service.core import disk
from service.core.settings import Settings
from service.schemas.health import Live, Ready
from service.schemas.problems import refusals
from service.store.schema_version import check_schema

BROKER_SECONDS = 0.7
# Times the space that must be left: time enough to make some.
LOW = 4

router = APIRouter(tags=["operation"], route_class=PublicRoute)


@router.get("/livez", responses=refusals())
async def live() -> Live:
    """The process answers; nothing else is checked."""
    return Live(status="ok")


@router.get("/readyz", responses=refusals())
async def ready(context: ContextDep) -> Ready:
    """Whether requests can be served: the database answers and has this release's schema or a later one.

    Without the broker the service is `degraded`: jobs are accepted and start when the broker is back.
    """
    await context.checks.run(check_schema, context.checks.engine)
    reachable = False
    with contextlib.suppress(TimeoutError):
        # Do not wait for a frozen broker longer than a probe would; the thread ends a little later.
        async with asyncio.timeout(BROKER_SECONDS):
            reachable = await asyncio.to_thread(context.notifier.reachable)
    space = _space(context.settings)
    return Ready(
        status="ready" if reachable and space in ("ok", "unknown") else "degraded",
        database="ok",
        broker="ok" if reachable else "unreachable",
        disk=space,
    )


def _space(settings: Settings) -> Literal["ok", "low", "full", "unknown"]:
    free = disk.free_mebibytes(settings)
    if free is None:
        return "unknown"
    if free < settings.min_free_mib:
        return "full"
    return "low" if free < LOW * settings.min_free_mib else "ok"
