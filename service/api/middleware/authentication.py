"""The door: nobody's request is read further than its headers before it is known who asks."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api import authenticator, problems
from service.api.context import AppContext
from service.core.errors import Problem

# What probers and clients ask before they have a key; it tells nothing of anybody's data.
PUBLIC_ROUTES = frozenset({"/livez", "/readyz", "/openapi.json", "/docs"})
PUBLIC_PREFIXES = ("/docs/",)


class AuthenticationMiddleware:
    """Says who asks in `request.state.caller`, or refuses; unknown paths are closed as well."""

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
            await problems.database_away(scope, exc)(scope, receive, send)
        else:
            scope["state"]["caller"] = caller
            await self.app(scope, receive, send)


async def _caller(scope: Scope) -> authenticator.Caller:
    path: str = scope["path"]
    if path in PUBLIC_ROUTES or path.startswith(PUBLIC_PREFIXES):
        return authenticator.NOBODY
    context: AppContext = scope["app"].state.context
    caller = await context.authenticator.authenticate(
        context.checks, scope["method"], Headers(scope=scope), (scope["client"] or ("",))[0]
    )
    await context.rate_limiter.check(caller)
    return caller
