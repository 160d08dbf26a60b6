"""Authenticates every request by its headers, before its body is read."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api import authenticator, problems
from service.api.context import AppContext
from service.core.errors import Problem

# Routes for probes and for clients without a key; they reveal no data.
PUBLIC_ROUTES = frozenset({"/livez", "/readyz", "/openapi.json", "/docs"})
PUBLIC_PREFIXES = ("/docs/",)


class AuthenticationMiddleware:
    """Sets `request.state.caller`, or refuses the request; unknown paths need a key too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            caller = await _caller(scope)
        except Problem as refusal:
            await problems.render(scope, refusal)(scope, receive, send)
        except problems.DATABASE_AWAY as exc:
            await problems.database_unavailable(scope, exc)(scope, receive, send)
        else:
            scope["state"]["caller"] = caller
            await self.app(scope, receive, send)


async def _caller(scope: Scope) -> authenticator.Caller:
    path: str = scope["path"]
    if path in PUBLIC_ROUTES or path.startswith(PUBLIC_PREFIXES):
        return authenticator.ANONYMOUS
    context: AppContext = scope["app"].state.context
    caller = await context.authenticator.authenticate(
        context.checks, scope["method"], Headers(scope=scope), (scope["client"] or ("",))[0]
    )
    await context.rate_limiter.check(caller)
    return caller
