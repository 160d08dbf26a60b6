"""Authenticates every request by its headers, before its body is read."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.api import authenticator, problems
from service.api.context import AppContext
from service.core.errors import Problem


class AuthenticationMiddleware:
    """Sets `request.state.caller`, or refuses the request; all paths but the `public` ones need a key."""

    def __init__(self, app: ASGIApp, public: frozenset[str]) -> None:
        self.app = app
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            public = scope["path"] in self._public
            caller = authenticator.ANONYMOUS if public else await _caller(scope)
        except Problem as refusal:
            await problems.render(scope, refusal)(scope, receive, send)
        except problems.DATABASE_AWAY as exc:
            await problems.database_unavailable(scope, exc)(scope, receive, send)
        else:
            scope["state"]["caller"] = caller
            await self.app(scope, receive, send)


async def _caller(scope: Scope) -> authenticator.Caller:
    context: AppContext = scope["app"].state.context
    caller = await context.authenticator.authenticate(
        context.checks, scope["method"], Headers(scope=scope), (scope["client"] or ("",))[0]
    )
    scope["state"]["rate_limit"] = await context.rate_limiter.check(caller)
    return caller
